// The value functions of the grid over training: a map for each beaker, and the beakers of a cell.

const VIRIDIS = [
  [68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142],
  [31, 158, 137], [53, 183, 121], [110, 206, 88], [181, 222, 43], [253, 231, 37],
];

function viridis(share) {
  const place = Math.min(Math.max(share || 0, 0), 1) * (VIRIDIS.length - 1);
  const at = Math.min(Math.floor(place), VIRIDIS.length - 2), part = place - at;
  const mixed = VIRIDIS[at].map((c, i) => Math.round(c + part * (VIRIDIS[at + 1][i] - c)));
  return `rgb(${mixed.join(",")})`;
}

function valueFilms(box) {
  const { films } = dataOf(box);
  let film, numbers, cell, spots = [];

  function values(frame, k) {
    const [, n, rows, columns] = film.shape;
    const from = (frame * n + k) * rows * columns;
    return numbers.subarray(from, from + rows * columns);
  }
  function goals(frame) {
    const [, , rows, columns] = film.shape;
    const corners = [[rows - 1, 0], [0, columns - 1]];
    const now = film.epochs[frame] % 2;
    return [corners[now], film.epochs[frame] > 1 ? corners[1 - now] : null];
  }

  const gap = 14, head = 22;
  const side = (width) => Math.min((width - gap * (film.shape[1] - 1)) / film.shape[1], 260);
  const maps = new Picture("Maps of the values of all cells. Arrow keys choose a cell.",
    (width) => side(width) + head,
    (pen, width) => {
      const [, n, rows, columns] = film.shape;
      const size = side(width), unit = size / columns;
      spots = [];
      for (let k = 0; k < n; k++) {
        const left = k * (size + gap), found = values(player.place, k);
        const most = Math.max(...found, 1e-9);
        pen.fillStyle = colour("text");
        pen.textAlign = "left";
        pen.fillText(`V${digits(k + 1, RAISED)}  ${k ? "hidden" : "visible"}`, left, 13);
        found.forEach((value, at) => {
          const [row, column] = [Math.floor(at / columns), at % columns];
          pen.fillStyle = viridis(value / most);
          pen.fillRect(left + column * unit, head + row * unit, unit + 0.5, size / rows + 0.5);
        });
        spots.push([left, unit]);
        goals(player.place).forEach((goal, past) => {
          if (!goal) return;
          const [x, y] = [left + (goal[1] + 0.5) * unit, head + (goal[0] + 0.5) * unit];
          pen.strokeStyle = "#ffffff";
          pen.fillStyle = past ? "rgba(0,0,0,0)" : "#ffffff";
          pen.lineWidth = 1.5;
          pen.beginPath();
          if (past) pen.arc(x, y, unit * 0.25, 0, 7);
          else star(pen, x, y, unit * 0.38);
          pen.fill();
          pen.stroke();
          if (!past) { pen.strokeStyle = "#333333"; pen.lineWidth = 0.8; pen.stroke(); }
        });
        pen.strokeStyle = "#ff5a36";
        pen.lineWidth = 2;
        pen.strokeRect(left + cell[1] * unit + 1, head + cell[0] * unit + 1, unit - 2, unit - 2);
      }
    });
  const tanks = new Picture("The beakers of the chosen cell", () => 170, (pen, width, height) => {
    const [, n, , columns] = film.shape;
    const levels = Array.from({ length: n }, (_, k) => values(player.place, k)[cell[0] * columns + cell[1]]);
    const names = levels.map((level, k) => [`V${digits(k + 1, RAISED)}`, String(Number(level.toPrecision(2)))]);
    const { low, high } = film.values;
    drawTanks(pen, width, height, levels, { low: Math.min(low, 0), high, awake: n, names });
  });
  const heading = el("p", { class: "soft" });

  function choose(row, column) {
    const [, , rows, columns] = film.shape;
    cell = [Math.min(Math.max(row, 0), rows - 1), Math.min(Math.max(column, 0), columns - 1)];
    heading.textContent = `Beakers of the cell in column ${cell[1] + 1}, row ${rows - cell[0]} from below`;
    maps.paint();
    tanks.paint();
  }
  maps.canvas.tabIndex = 0;
  maps.canvas.addEventListener("keydown", (event) => {
    const way = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!way) return;
    event.preventDefault();
    choose(cell[0] + way[0], cell[1] + way[1]);
  });
  maps.canvas.addEventListener("click", (event) => {
    const at = maps.canvas.getBoundingClientRect();
    for (const [left, unit] of spots) {
      const column = Math.floor((event.clientX - at.left - left) / unit);
      const row = Math.floor((event.clientY - at.top - head) / unit);
      if (column >= 0 && column < film.shape[3] && row >= 0 && row < film.shape[2]) choose(row, column);
    }
  });

  const player = new Player("Moment of training", 8, (frame) => {
    maps.paint();
    tanks.paint();
    const corner = film.epochs[frame] % 2 ? "upper right" : "lower left";
    return `epoch ${film.epochs[frame]}: goal ${corner}, step ${film.steps[frame].toLocaleString("en")}`;
  });
  function load(place) {
    film = films[place];
    numbers = unpack(film.values);
    cell = cell || [film.shape[2] - 1, 0];
    player.load(film.shape[0], player.place === undefined ? film.shape[0] - 1 : player.place);
    choose(...cell);
  }
  const most = films.reduce((best, one, at) => (one.shape[1] > films[best].shape[1] ? at : best), 0);
  const agents = choice("Agent", films.map(agentName), load);
  agents.querySelector("select").selectedIndex = most;
  box.querySelector(".stage").append(
    el("div", { class: "tools" }, agents), maps.canvas, player.box, heading, tanks.canvas,
  );
  load(most);
}

function star(pen, x, y, radius) {
  for (let i = 0; i < 10; i++) {
    const angle = (i * Math.PI) / 5 - Math.PI / 2, reach = i % 2 ? radius * 0.45 : radius;
    pen[i ? "lineTo" : "moveTo"](x + reach * Math.cos(angle), y + reach * Math.sin(angle));
  }
  pen.closePath();
}

