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
  // Where it stays goes into the link; what is passed on the way does not.
  const tell = (at, stays) => {
    button.waits = true;
    button.at = at;
    setTriggerValue("step", { at, stays });
  };
  button.next = () => {
    if (button.waits) return;
    if (data.at < data.last) tell(data.at + 1, still || data.at + 1 === data.last);
    else stop();
  };
  button.waits = false; // what was asked for is drawn
  button.onclick = () => {
    if (button.timer) {
      stop();
      setTriggerValue("step", { at: button.waits ? button.at : data.at, stays: true });
      return;
    }
    if (data.at < data.last) button.next();
    else tell(0, still);
    if (still) return;
    button.timer = setInterval(() => button.next(), SECOND);
    name(true);
  };
  name(Boolean(button.timer));
  return () => clearInterval(button.timer);
}
