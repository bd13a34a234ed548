// Every agent and every seed on one pair of axes; tasks, agents and seeds can be switched.

function middleOf(lines, style) {
  const shared = lines[0].x.filter((x) => lines.every((line) => line.x.includes(x)));
  if (lines.length < 2 || shared.length < 2) return null;
  const never = lines.some((line) => line.y.includes(null));
  const y = shared.map((x) => {
    const found = lines.map((line) => line.y[line.x.indexOf(x)]);
    if (!never) return found.reduce((sum, one) => sum + one / found.length, 0);
    const sorted = found.map((one) => (one === null ? Infinity : one)).sort((a, b) => a - b);
    const median = (sorted[(sorted.length - 1) >> 1] + sorted[sorted.length >> 1]) / 2;
    return Number.isFinite(median) ? median : null;
  });
  return { name: lines[0].variant, what: `${never ? "median" : "mean"} of ${lines.length} seeds`, style, x: shared, y };
}

function seedsApart(box) {
  const { charts, styles } = dataOf(box);
  const titles = [...new Set(charts.map((chart) => chart.title))];
  const agents = [...new Set(charts.flatMap((chart) => chart.lines.map((line) => line.variant)))];
  const seeds = [...new Set(charts.flatMap((chart) => chart.lines.map((line) => line.seed)))].sort((a, b) => a - b);
  let [title, task] = [titles[0], null];

  const picture = new Chart("Agents and seeds", (line, at) =>
    `${line.name}, ${line.what}: ${line.y[at] === null ? "never" : short(line.y[at])} at ${shown().x} ${short(line.x[at])}`);
  const mine = () => charts.filter((chart) => chart.title === title);
  const shown = () => mine().find((chart) => chart.task === task) || mine()[0];
  const who = switches(agents, (name) => styleIn(styles, name), () => draw());
  const which = switches(seeds, null, () => draw());

  function draw() {
    const chart = shown(), lines = [];
    for (const agent of agents.filter(who.chosen)) {
      const own = chart.lines.filter((line) => line.variant === agent && which.chosen(line.seed));
      const style = styleIn(styles, agent), middle = own.length ? middleOf(own, style) : null;
      own.forEach((line) => lines.push({ name: agent, what: `seed ${line.seed}`, style, faint: Boolean(middle), x: line.x, y: line.y }));
      if (middle) lines.push(middle);
    }
    // The axes stay where they are when a name is taken out.
    const range = extent(chart.lines.flatMap((line) => line.y));
    picture.load({ title: chart.title, x: chart.x, log: chart.log, lines, range: chart.log && range[0] <= 0 ? null : range });
  }
  const tasks = el("span");
  function pickTask(names, place) {
    task = names[place];
    draw();
  }
  function pick(place) {
    title = titles[place];
    const names = mine().map((chart) => chart.task).filter(Boolean);
    if (!names.includes(task)) task = names[0];
    const list = choice("Task", names, (at) => pickTask(names, at));
    list.querySelector("select").selectedIndex = Math.max(0, names.indexOf(task));
    tasks.replaceChildren(...(names.length > 1 ? [list] : []));
    draw();
  }
  box.querySelector(".stage").append(
    el("div", { class: "tools" }, choice("Measure", titles, pick), tasks),
    who.box, picture.box, picture.readout, ...(seeds.length > 1 ? [which.box] : []),
  );
  pick(0);
}

