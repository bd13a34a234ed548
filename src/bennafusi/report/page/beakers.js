// The beakers of one parameter, or of a whole layer, over training.

function levelFilms(box) {
  const { films } = dataOf(box);
  let film, chosen, numbers;

  const tanks = new Picture("Beakers", (width) => (width < 500 ? 190 : 240), (pen, width, height) => {
    const levels = numbers.subarray(player.place * chosen.n, (player.place + 1) * chosen.n);
    const names = Array.from(levels, (_, k) => [
      `u${digits(k + 1, SMALL)}`, film.timescales[k] ? thousands(film.timescales[k]) : "",
    ]);
    const awake = film.awake[player.place];
    const low = chosen.name === "whole layer" ? 0 : chosen.low;
    drawTanks(pen, width, height, levels, { low, high: chosen.high, awake, names });
  });
  // All moments at once: time from left to right, a row for each beaker, the weight on top.
  const ribbon = new Picture("All levels over training", (width) => Math.min(4 * chosen.n + 24, 150), (pen, width, height) => {
    const left = 46, rows = height - 6, frames = film.times.length;
    const [wide, high] = [(width - left - 8) / frames, rows / chosen.n];
    const most = Math.max(Math.abs(chosen.low), Math.abs(chosen.high)) || 1;
    const [above, below] = [colour("liquid"), colour("no")];
    numbers.forEach((level, at) => {
      pen.globalAlpha = Math.min(1, Math.abs(level) / most);
      pen.fillStyle = level > 0 ? above : below;
      const [column, row] = [Math.floor(at / chosen.n), at % chosen.n];
      const [x, y] = [Math.round(left + column * wide), Math.round(row * high)];
      pen.fillRect(x, y, Math.round(left + (column + 1) * wide) - x, Math.round((row + 1) * high) - y);
    });
    pen.globalAlpha = 1;
    pen.strokeStyle = colour("text");
    pen.lineWidth = 1.5;
    pen.strokeRect(left + player.place * wide, 0, Math.max(wide, 2), rows);
    pen.fillStyle = colour("soft");
    pen.textAlign = "right";
    pen.fillText("u₁", left - 8, 11);
    pen.fillText(`u${digits(chosen.n, SMALL)}`, left - 8, rows);
  });
  ribbon.canvas.addEventListener("click", (event) => {
    const at = ribbon.canvas.getBoundingClientRect(), frames = film.times.length;
    const share = (event.clientX - at.left - 46) / (at.width - 54);
    player.stop();
    player.go(Math.min(frames - 1, Math.max(0, Math.floor(share * frames))));
  });
  const player = new Player("Moment of training", 8, (frame) => {
    tanks.paint();
    ribbon.paint();
    const task = film.tasks[frame];
    const where = film.epochs[frame] ? `epoch ${film.epochs[frame]}${task ? ` (${task})` : ""}` : "before training";
    return `${where}, ${film.along} ${film.times[frame].toLocaleString("en")}, ` +
      `${film.updates[frame].toLocaleString("en")} updates; ${film.awake[frame]} of ${chosen.n} beakers act`;
  });
  const tools = el("div", { class: "tools" });

  function pick(place) {
    chosen = film.choices[place];
    numbers = unpack(chosen);
    player.load(film.times.length, player.place === undefined ? film.times.length - 1 : player.place);
  }
  function load(place) {
    film = films[place];
    const names = film.choices.map((one) => `${one.part}: ${one.name}`);
    const parameters = choice("Parameter", names, pick);
    const single = Math.max(0, film.choices.findIndex((one) => one.name !== "whole layer"));
    parameters.querySelector("select").selectedIndex = single;
    tools.replaceChildren(agents, parameters);
    pick(single);
  }
  const agents = choice("Agent", films.map(agentName), load);
  box.querySelector(".stage").append(
    tools, tanks.canvas,
    el("p", { class: "soft", text: "Below each beaker: for how many updates it remembers." }),
    player.box, ribbon.canvas,
    el("p", { class: "soft", text: "All moments from left to right, a row for each beaker: blue above 0, orange below, the stronger the further." }),
  );
  load(0);
}

