// The agent at play, drawn from the states of one episode; all agents of a task side by side.

function drawCart(pen, width, height, episode, at) {
  const ground = height - 26;
  const metre = Math.min((width - 24) / (2 * episode.farthest), (height - 50) / (episode.pole + 0.3));
  const x = width / 2 + episode.x[at] * metre, axle = ground - 0.3 * metre;
  const tip = (lean) => [x + episode.pole * metre * Math.sin(lean), axle - episode.pole * metre * Math.cos(lean)];
  const line = (stroke, thick, from, to, cap) => {
    pen.strokeStyle = stroke;
    pen.lineWidth = thick;
    pen.lineCap = cap || "butt";
    pen.beginPath();
    pen.moveTo(...from);
    pen.lineTo(...to);
    pen.stroke();
  };
  const reach = episode.farthest * metre;
  line(colour("glass"), 2, [width / 2 - reach, ground], [width / 2 + reach, ground]);
  for (const side of [-1, 1]) {
    line(colour("fruit"), 3, [width / 2 + side * reach, ground - 9], [width / 2 + side * reach, ground + 9]);
    pen.setLineDash([3, 4]);
    line(colour("fruit"), 1, [x, axle], tip(side * episode.steepest));
    pen.setLineDash([]);
    pen.fillStyle = colour("text");
    pen.beginPath();
    pen.arc(x + side * 0.15 * metre, ground - 0.07 * metre, 0.07 * metre, 0, 7);
    pen.fill();
  }
  pen.fillStyle = colour("paddle");
  pen.fillRect(x - 0.25 * metre, ground - 0.32 * metre, 0.5 * metre, 0.22 * metre);
  line(colour("pole"), Math.max(0.09 * metre, 4), [x, axle], tip(episode.angle[at]), "round");
}

function drawCatcher(pen, width, height, episode, at) {
  const above = 30, margin = 7, unit = Math.min((height - 6) / (64 + above), width / (64 + 2 * margin));
  const left = width / 2 - 32 * unit, top = 3 + above * unit;
  const boxAt = (fill, x, y, w, h) => {
    pen.fillStyle = fill;
    pen.fillRect(left + x * unit, top + y * unit, w * unit, h * unit);
  };
  boxAt(colour("page"), 0, 0, 64, 64);
  pen.strokeStyle = colour("glass");
  pen.lineWidth = 1;
  pen.strokeRect(left, top, 64 * unit, 64 * unit);
  boxAt(colour("paddle"), episode.paddle[at] - 6, 57, 13, 3);
  const x = episode.column[at], y = episode.row[at];
  pen.globalAlpha = y < 0 ? 0.4 : 1;
  boxAt(colour("fruit"), x - 2, y - 2, 4, 4);
  pen.globalAlpha = 1;
}

// A game that a run kept, as an episode to draw: lists of changes from frame to frame become what
// they add up to. A change is a number, or a pair of it and how often it comes.
function unpackGame(game) {
  const most = 10000, lists = {};
  for (const [name, { unit, runs }] of Object.entries(game.moves)) {
    const found = lists[name] = [];
    let level = 0;
    for (const run of runs) {
      const [change, times] = Array.isArray(run) ? run : [run, 1];
      for (let i = 0; i < times && found.length < most; i++) found.push((level += change) * unit);
    }
  }
  return { ...game, ...lists };
}

// One episode on a canvas, in words below it; show(frame) moves it. Of a kept game there is a frame
// for every so many steps, and one for its end.
function playPanel(episode, heading, note) {
  const cart = episode.kind === "cartpole", last = episode.totals.length - 1;
  const every = episode.every || 1, steps = episode.steps || last;
  let at = 0;
  const label = `${episode.task} played by ${agentName(episode)}`;
  const picture = new Picture(label, (width) => Math.min(width * (cart ? 0.45 : 0.72), 260),
    (pen, width, height) => (cart ? drawCart : drawCatcher)(pen, width, height, episode, at));
  const words = el("span", { class: "soft" });
  const title = el("h4", {}, el("span", { class: "name", text: heading }));
  if (note) title.append(" ", el("span", { class: "badge", text: note }));
  const node = el("div", {}, title, picture.canvas, words, el("div", { class: "soft", text: episode.when }));
  function show(frame) {
    at = Math.min(frame, last);
    picture.paint();
    const way = { l: "← left", r: "→ right", n: "no push" }[episode.actions[at]] || "start";
    words.textContent = `return ${episode.totals[at].toLocaleString("en")}` + (frame > last ? `, over after ${steps} steps` : `, ${way}`);
  }
  const step = (frame) => Math.min(frame * every, steps);
  const gone = () => canvases.splice(canvases.indexOf(picture), 1);
  return { node, show, gone, step, frames: last + 1, rate: (cart ? 50 : 30) / every };
}

function playFilms(box) {
  const { episodes, strongest } = dataOf(box);
  const tasks = [...new Set(episodes.map((episode) => episode.task))];
  const agents = [...new Set(episodes.map((episode) => episode.agent))];
  const seeds = [...new Set(episodes.map((episode) => episode.seed))].sort((a, b) => a - b);
  const panels = el("div", { class: "panels" });
  let shown = [], task = tasks[0], seed = seeds[0];

  const player = new Player("Step of the episode", 50, (frame) => {
    shown.forEach((panel) => panel.show(frame));
    return `step ${frame}`;
  });
  // An agent without that seed plays its first one: the heading names it.
  function load() {
    player.stop();
    shown.forEach((panel) => panel.gone());
    const mine = agents.map((agent) => {
      const own = episodes.filter((episode) => episode.agent === agent && episode.task === task);
      return own.find((episode) => episode.seed === seed) || own[0];
    });
    shown = mine.filter(Boolean).map((episode) =>
      playPanel(episode, agentName(episode), episode.agent === strongest ? "strongest of the others" : ""));
    panels.replaceChildren(...shown.map(({ node }) => node));
    player.rate = shown[0].rate;
    player.load(Math.max(...shown.map(({ frames }) => frames)), 0);
  }
  const tools = el("div", { class: "tools" });
  if (seeds.length > 1) {
    tools.append(choice("Seed", seeds, (place) => {
      seed = seeds[place];
      load();
    }));
  }
  tools.append(choice("Task", tasks, (place) => {
    task = tasks[place];
    load();
  }));
  box.querySelector(".stage").append(tools, panels, player.box);
  load();
}

