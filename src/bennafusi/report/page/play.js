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
  const [x, y] = episode.fruit[at];
  pen.globalAlpha = y < 0 ? 0.4 : 1;
  boxAt(colour("fruit"), x - 2, y - 2, 4, 4);
  pen.globalAlpha = 1;
}

function playFilms(box) {
  const { episodes } = dataOf(box);
  const tasks = [...new Set(episodes.map((episode) => episode.task))];
  const panels = el("div", { class: "panels" });
  let shown = [];

  const player = new Player("Step of the episode", 50, (frame) => {
    shown.forEach(({ episode, picture, words }) => {
      const last = episode.totals.length - 1, at = Math.min(frame, last);
      picture.paint();
      const way = { l: "← left", r: "→ right", n: "no push" }[episode.actions[at]] || "start";
      words.textContent = `return ${episode.totals[at].toLocaleString("en")}` + (frame > last ? `, over after ${last} steps` : `, ${way}`);
    });
    return `step ${frame}`;
  });

  function panel(episode) {
    const draw = episode.kind === "cartpole" ? drawCart : drawCatcher;
    const label = `${episode.task} played by ${agentName(episode)}`;
    const share = episode.kind === "cartpole" ? 0.45 : 0.72;
    const picture = new Picture(label, (width) => Math.min(width * share, 260), (pen, width, height) => {
      draw(pen, width, height, episode, Math.min(player.place, episode.totals.length - 1));
    });
    const words = el("span", { class: "soft" });
    const title = el("h4", { text: agentName(episode) });
    const node = el("div", {}, title, picture.canvas, words, el("div", { class: "soft", text: episode.when }));
    return { episode, picture, words, node };
  }
  function load(place) {
    player.stop();
    shown.forEach(({ picture }) => canvases.splice(canvases.indexOf(picture), 1));
    shown = episodes.filter((episode) => episode.task === tasks[place]).map(panel);
    panels.replaceChildren(...shown.map(({ node }) => node));
    player.rate = shown[0].episode.kind === "cartpole" ? 50 : 30;
    player.load(Math.max(...shown.map(({ episode }) => episode.totals.length)), 0);
  }
  box.querySelector(".stage").append(
    el("div", { class: "tools" }, choice("Task", tasks, load)), panels, player.box,
  );
  load(0);
}

