// What the depths know: depth against time, a panel for each task; a cell is a network.

const DEPTHS = { left: 34, head: 34, foot: 22 };

// The least and the greatest of a panel, and where on the picture its looks and depths lie.
function depthPanel(panel, film) {
  const [low, high] = extent(panel.values.flat());
  const times = film.times, count = times.length;
  const begin = Math.min(2 * times[0] - times[1], times[0] - 1), span = times[count - 1] - begin || 1;
  const row = Math.max(13, Math.min(26, 240 / panel.values.length));
  const bars = (width) => (width < 420 ? 54 : 100), right = (width) => bars(width) + 46;
  const across = (width) => width - DEPTHS.left - right(width);
  return {
    ...panel, low, high, bars, across, row,
    depths: panel.values.length,
    height: DEPTHS.head + row * panel.values.length + DEPTHS.foot,
    edge: (look, width) => DEPTHS.left + (((look < 0 ? begin : times[look]) - begin) / span) * across(width),
    share: (value) => (value - low) / (high - low || 1),
    lookAt(x, width) {
      for (let look = 0; look < count; look++) if (x <= this.edge(look, width)) return look;
      return count - 1;
    },
  };
}

function drawDepths(pen, width, panel, film, place, depth) {
  const bottom = DEPTHS.head + panel.row * panel.depths, end = panel.edge(film.times.length - 1, width);
  const y = (k) => DEPTHS.head + k * panel.row;
  pen.fillStyle = colour("text");
  pen.textAlign = "left";
  pen.font = "600 12px system-ui, sans-serif";
  pen.fillText(`plays ${panel.task}`, DEPTHS.left, 13);
  pen.font = "12px system-ui, sans-serif";
  drawColours(pen, width - 2, panel);
  pen.fillStyle = colour("hollow");
  pen.fillRect(DEPTHS.left, DEPTHS.head, end - DEPTHS.left, bottom - DEPTHS.head);
  panel.values.forEach((row, k) => row.forEach((value, look) => {
    if (value === null) return;
    const [from, to] = [panel.edge(look - 1, width), panel.edge(look, width)].map(Math.round);
    pen.fillStyle = viridis(panel.share(value));
    pen.fillRect(from, y(k), Math.max(1, to - from), panel.row);
  }));
  film.times.forEach((_, look) => {
    if (film.trained[look] === panel.task) {
      pen.fillStyle = colour("text");
      const from = panel.edge(look - 1, width);
      pen.fillRect(from, DEPTHS.head - 7, panel.edge(look, width) - from, 4);
    }
    if (look && look < film.times.length - 1 && film.epochs[look + 1] !== film.epochs[look]) {
      pen.fillStyle = "#ffffff";
      pen.fillRect(panel.edge(look, width) - 1, DEPTHS.head, 2, bottom - DEPTHS.head);
    }
  });
  drawDepthAxes(pen, width, panel, film, place, { y, bottom, end });
  // The moment, and in it the chosen depth.
  const [from, to] = [panel.edge(place - 1, width), panel.edge(place, width)];
  pen.strokeStyle = colour("text");
  pen.lineWidth = 2;
  pen.strokeRect(from, DEPTHS.head - 1, Math.max(2, to - from), bottom - DEPTHS.head + 2);
  if (depth === null) return;
  pen.strokeStyle = "#ff5a36";
  pen.lineWidth = 3;
  pen.strokeRect(from + 1, y(depth) + 1, Math.max(4, to - from) - 2, panel.row - 2);
}

// What the colours stand for, in the upper right corner.
function drawColours(pen, end, panel) {
  const [low, high] = [panel.low, panel.high].map(thousandsOf), long = 60;
  pen.fillStyle = colour("soft");
  pen.textAlign = "right";
  pen.fillText(high, end, 13);
  const from = end - pen.measureText(high).width - 6 - long;
  pen.fillText(low, from - 6, 13);
  for (let i = 0; i < long; i++) {
    pen.fillStyle = viridis(i / long);
    pen.fillRect(from + i, 5, 1.5, 8);
  }
}

// Names of depths, their timescales, and bars: what each depth earns at this moment.
function drawDepthAxes(pen, width, panel, film, place, { y, bottom, end }) {
  const every = panel.depths > 16 ? 2 : 1, room = panel.bars(width), from = width - room + 4;
  const zero = Math.min(panel.low, 0), most = Math.max(panel.high, 0) - zero || 1;
  pen.fillStyle = colour("soft");
  pen.textAlign = "left";
  pen.fillText("updates", end + 6, DEPTHS.head - 8);
  panel.values.forEach((row, k) => {
    const middle = y(k) + panel.row / 2 + 4;
    pen.fillStyle = colour("soft");
    if (k % every === 0) {
      pen.textAlign = "right";
      pen.fillText(`u${digits(k + 1, SMALL)}`, DEPTHS.left - 6, middle);
      pen.textAlign = "left";
      if (film.timescales[k]) pen.fillText(thousands(film.timescales[k]), end + 6, middle);
    }
    const value = row[place];
    if (value === null) return;
    const long = ((value - zero) / most) * (room - 44);
    pen.fillStyle = colour("liquid");
    pen.fillRect(from, y(k) + 2, Math.max(1, long), panel.row - 4);
    pen.fillStyle = colour("text");
    pen.fillText(thousandsOf(value), from + Math.max(1, long) + 4, middle);
  });
  pen.fillStyle = colour("soft");
  pen.textAlign = "center";
  for (const tick of ticks(0, film.times[film.times.length - 1], false)) {
    const share = (tick - film.times[0]) / (film.times[film.times.length - 1] - film.times[0] || 1);
    const start = panel.edge(0, width);
    pen.fillText(thousands(tick), start + share * (end - start), bottom + 15);
  }
}

function thousandsOf(value) {
  return value < 0 ? `−${thousands(-value)}` : thousands(value);
}

function depthFilms(box) {
  const { films } = dataOf(box);
  const maps = el("div", { class: "maps" }), stage = el("div", { class: "onstage" });
  const readout = el("output", { class: "readout" });
  let film, panels = [], pictures = [], chosen = null, scene = null;

  const steps = new Player("Step of the episode", 50, (frame) => {
    if (scene) scene.show(frame);
    return scene ? `step ${scene.step(frame)}` : "";
  });
  const moments = new Player("Moment of training", 3, (place) => {
    pictures.forEach((picture) => picture.paint());
    const trained = film.trained[place] ? ` of ${film.trained[place]}` : "";
    const when = film.epochs[place] ? `epoch ${film.epochs[place]}${trained}` : "before training";
    return `${film.along} ${film.times[place].toLocaleString("en")}, ${when}`;
  });

  function words() {
    const panel = panels[chosen.panel], value = panel.values[chosen.depth][moments.place];
    const what = value === undefined || value === null ? "not reached yet" : `${film.unit} ${short(value)}`;
    return `${panel.task}, u${digits(chosen.depth + 1, SMALL)} at ${film.along} ${film.times[moments.place].toLocaleString("en")}: ${what}`;
  }
  // What a cell can show: the game that was kept of it; of the last column, if there is none, one
  // that its network has played since.
  function episodeOf(panel, depth, place) {
    const { played, times } = film, last = place === times.length - 1;
    const game = ((panel.games || [])[place] || [])[depth];
    if (game) {
      const often = game.every > 1 ? `; one picture for every ${game.every} steps` : "";
      return { ...unpackGame(game), agent: film.agent, seed: film.seed, task: panel.task, when: `The first of the games that this cell averages${often}.` };
    }
    const own = last && played && played.episodes.find((one) => one.task === panel.task && one.depth === depth + 1);
    if (!own) return null;
    const newer = played.time === times[times.length - 1] ? "" : `; its newest checkpoint, ${film.along} ${played.time.toLocaleString("en")}`;
    return { ...own, when: own.when + newer };
  }
  function whyNot(panel, depth, place) {
    if ((panel.values[depth][place] ?? null) === null) return "This depth was not reached yet.";
    if ((panel.games || []).some(Boolean)) return "No game of this moment was kept: runs keep them at switches, long runs at some of them.";
    if (!film.played) return "The page has no game of this run.";
    if (place === film.times.length - 1) return "This task cannot be drawn.";
    return "This run kept no games, so an earlier network cannot play. Choose a cell of the last column.";
  }
  function stageCell() {
    if (scene) scene.gone();
    scene = null;
    steps.stop();
    readout.textContent = words();
    const cell = [panels[chosen.panel], chosen.depth, moments.place], episode = episodeOf(...cell);
    if (!episode) {
      stage.replaceChildren(el("p", { class: "soft", text: whyNot(...cell) }));
      return;
    }
    scene = playPanel(episode, `u${digits(chosen.depth + 1, SMALL)} of ${agentName(film)}`, "");
    stage.replaceChildren(scene.node, steps.box);
    steps.rate = scene.rate;
    steps.load(scene.frames, 0);
  }
  function choose(panel, depth, place) {
    chosen = { panel, depth: Math.min(Math.max(depth, 0), panels[panel].depths - 1) };
    moments.stop();
    moments.go(Math.min(Math.max(place, 0), film.times.length - 1));
    stageCell();
  }
  function mapOf(panel, number) {
    const picture = new Picture(`Reward by depth and time: ${panel.task}. Arrow keys choose a cell.`, () => panel.height,
      (pen, width) => drawDepths(pen, width, panel, film, moments.place, chosen && chosen.panel === number ? chosen.depth : null));
    const { canvas } = picture;
    const cellAt = (event) => {
      const at = canvas.getBoundingClientRect();
      return [Math.floor((event.clientY - at.top - DEPTHS.head) / panel.row), panel.lookAt(event.clientX - at.left, at.width)];
    };
    canvas.tabIndex = 0;
    canvas.addEventListener("click", (event) => choose(number, ...cellAt(event)));
    canvas.addEventListener("pointermove", (event) => {
      const [depth, look] = cellAt(event), value = (panel.values[depth] || [])[look];
      if (value === undefined) return;
      readout.textContent = `${panel.task}, u${digits(depth + 1, SMALL)} at ${film.along} ${film.times[look].toLocaleString("en")}: ` +
        (value === null ? "not reached yet" : `${film.unit} ${short(value)}`);
    });
    canvas.addEventListener("pointerleave", () => { readout.textContent = words(); });
    canvas.addEventListener("keydown", (event) => {
      const way = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!way) return;
      event.preventDefault();
      choose(number, (chosen.panel === number ? chosen.depth : 0) + way[0], moments.place + way[1]);
    });
    return picture;
  }
  function load(place) {
    film = films[place];
    pictures.forEach((picture) => canvases.splice(canvases.indexOf(picture), 1));
    panels = film.panels.map((panel) => depthPanel(panel, film));
    pictures = panels.map(mapOf);
    maps.replaceChildren(...pictures.map(({ canvas }) => canvas));
    chosen = { panel: 0, depth: 0 };
    const last = film.times.length - 1;
    moments.load(film.times.length, last);
    // To begin with, the network that is nearest to its task's best.
    let best = [0, 0], most = -Infinity;
    panels.forEach((panel, number) => panel.values.forEach((row, depth) => {
      const share = row[last] === null ? -Infinity : panel.share(row[last]);
      if (share > most) [best, most] = [[number, depth], share];
    }));
    choose(...best, last);
  }
  moments.slider.addEventListener("input", stageCell);
  const runs = choice("Run", films.map(agentName), load);
  box.querySelector(".stage").append(el("div", { class: "tools" }, runs), maps, moments.box, readout, stage);
  load(0);
}

