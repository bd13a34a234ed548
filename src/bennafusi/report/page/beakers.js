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
  const player = new Player("Moment of training", 8, (frame) => {
    tanks.paint();
    const task = film.tasks[frame];
    const where = film.epochs[frame] ? `epoch ${film.epochs[frame]}${task ? ` (${task})` : ""}` : "before training";
    return `${where}, episode ${film.episodes[frame].toLocaleString("en")}, ` +
      `${film.updates[frame].toLocaleString("en")} updates; ${film.awake[frame]} of ${chosen.n} beakers act`;
  });
  const tools = el("div", { class: "tools" });

  function pick(place) {
    chosen = film.choices[place];
    numbers = unpack(chosen);
    player.load(film.episodes.length, player.place === undefined ? film.episodes.length - 1 : player.place);
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
    tools, tanks.canvas, player.box,
    el("p", { class: "soft", text: "Below each beaker: for how many updates it remembers." }),
  );
  load(0);
}

