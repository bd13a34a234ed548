// A slider through frames, a button that moves it, and the space bar for that button.

const calm = matchMedia("(prefers-reduced-motion: reduce)");

class Player {
  constructor(label, rate, show) {
    this.rate = rate;
    this.show = show;
    this.timer = 0;
    this.button = el("button", { type: "button", class: "act", onclick: () => this.toggle() });
    this.slider = el("input", { type: "range", min: 0, value: 0, step: 1, "aria-label": label });
    this.slider.addEventListener("input", () => {
      this.stop();
      this.go(Number(this.slider.value));
    });
    this.readout = el("output", { class: "readout" });
    const row = el("div", { class: "player" }, this.button, this.slider);
    row.addEventListener("keydown", (event) => {
      if (event.key !== " " || event.target === this.button) return;
      event.preventDefault();
      this.toggle();
    });
    this.box = el("div", {}, row, this.readout);
    this.stop();
  }

  // Another film: as far through it as through the one before, or at its end.
  load(frames, place) {
    this.frames = frames;
    this.slider.max = frames - 1;
    this.go(Math.min(place, frames - 1));
  }

  go(place) {
    this.place = place;
    this.slider.value = place;
    const text = this.show(place);
    this.readout.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
  }

  toggle() {
    if (this.timer) this.stop();
    else this.start();
  }

  start() {
    if (this.place >= this.frames - 1) this.go(0);
    // Who asked for calm gets a slow series of pictures, and only when it is asked for.
    const rate = calm.matches ? Math.min(this.rate, 2) : this.rate;
    const from = this.place;
    let began = null;
    const step = (now) => {
      began = began === null ? now : began;
      const place = Math.min(this.frames - 1, from + Math.floor(((now - began) / 1000) * rate));
      if (place !== this.place) this.go(place);
      if (place >= this.frames - 1) this.stop();
      else this.timer = requestAnimationFrame(step);
    };
    this.timer = requestAnimationFrame(step);
    this.button.textContent = "❚❚ Pause";
    this.button.setAttribute("aria-pressed", "true");
  }

  stop() {
    if (this.timer) cancelAnimationFrame(this.timer);
    this.timer = 0;
    this.button.textContent = "▶ Play";
    this.button.setAttribute("aria-pressed", "false");
  }
}

