// Plays a slider that the browser answers: a step a second, as a hand would drag it. The server hears
// of the step at which it stops. Who prefers less motion goes on by one at each press.
const SECOND = 1000;

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector(".c-play");
  const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  const slider = () => document.querySelector(data.slider);
  const name = (playing) => {
    button.textContent = playing ? "Pause" : still ? "Next epoch" : "Play";
    button.classList.toggle("playing", playing);
  };
  const halt = () => {
    clearInterval(button.timer);
    button.timer = undefined;
    name(false);
  };
  const act = (type) => slider()?.dispatchEvent(new Event(type));
  const go = (step) => {
    slider().value = step;
    act("input");
  };
  button.next = () => {
    const { valueAsNumber, max } = slider() ?? {};
    if (valueAsNumber < Number(max)) go(valueAsNumber + 1);
    if (!(valueAsNumber + 1 < Number(max))) button.stop();
  };
  button.stop = () => {
    halt();
    act("pointerup");
  };
  button.onclick = () => {
    if (button.timer) return button.stop();
    const { valueAsNumber, max } = slider();
    act("pointerdown");
    go(valueAsNumber < Number(max) ? valueAsNumber + 1 : 0);
    if (still) return act("pointerup");
    button.timer = setInterval(() => button.next(), SECOND);
    slider().onpointerdown = slider().onkeydown = ({ isTrusted }) => isTrusted && halt();
    name(true);
  };
  name(Boolean(button.timer));
  return () => clearInterval(button.timer);
}
