// Plays epochs: each is drawn by the server before the next is asked for. Who prefers less motion
// goes on by one at each press.
const SECOND = 1000;

export default function ({ data, parentElement, setTriggerValue }) {
  const button = parentElement.querySelector(".c-play");
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const name = (playing) => {
    button.textContent = playing ? "Pause" : still ? "Next epoch" : "Play";
  };
  const stop = () => {
    clearInterval(button.timer);
    button.timer = undefined;
    name(false);
  };
  const tell = (at) => {
    button.waits = true;
    setTriggerValue("step", at);
  };
  button.next = () => {
    if (button.waits) return;
    if (data.at < data.last) tell(data.at + 1);
    else stop();
  };
  button.waits = false; // what was asked for is drawn
  button.onclick = () => {
    if (button.timer) return stop();
    if (data.at < data.last) button.next();
    else tell(0);
    if (still) return;
    button.timer = setInterval(() => button.next(), SECOND);
    name(true);
  };
  name(Boolean(button.timer));
  return () => clearInterval(button.timer);
}
