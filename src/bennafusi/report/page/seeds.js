// Every seed by itself: a panel for each agent, a line for each seed, the same axes in all.

const SEED_LINES = [
  ["#0072B2", ""], ["#D55E00", "6 2"], ["#009E73", "2 2"], ["#CC79A7", "8 2 2 2"],
  ["#E69F00", "1 2"], ["#56B4E9", "10 3"], ["#7F7F7F", "4 1"], ["#8a6bbf", "3 3"],
];
const WIDE = 300, HIGH = 170, LEFT = 44, RIGHT = 8, TOP = 8, BOTTOM = 30;

function extent(numbers) {
  let low = Infinity, high = -Infinity;
  for (const number of numbers) {
    if (number === null) continue;
    low = Math.min(low, number);
    high = Math.max(high, number);
  }
  return low <= high ? [low, high] : [0, 1];
}

function ticks(low, high, log) {
  if (log) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
      found.push(10 ** power);
    }
    const inside = found.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
    return inside.length > 1 ? inside : [low, high];
  }
  const rough = (high - low || 1) / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((factor) => factor * unit >= rough);
  const found = [];
  // Counted, because adding a small step to a very large number does not change it.
  for (let i = 0; i < 12; i++) {
    const tick = (Math.ceil(low / step) + i) * step;
    if (!(tick <= high + step * 1e-6)) break;
    found.push(Number(tick.toPrecision(12)));
  }
  return found;
}

function seedsScale(chart) {
  const [left, right] = extent(chart.lines.flatMap((line) => line.x));
  let [low, high] = extent(chart.lines.flatMap((line) => line.y));
  const log = chart.log && low > 0;
  if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - 1, high + 1];
  const never = chart.lines.some((line) => line.y.includes(null));
  const top = TOP + (never ? 20 : 0);
  const level = log ? Math.log : (y) => y;
  const share = (y) => (level(y) - level(low)) / (level(high) - level(low));
  return {
    never, log, low, high, left, right,
    x: (x) => LEFT + ((x - left) / (right - left || 1)) * (WIDE - LEFT - RIGHT),
    y: (y) => (y === null ? TOP + 4 : HIGH - BOTTOM - share(y) * (HIGH - BOTTOM - top)),
  };
}

function seedLine(line, scale, place) {
  const [stroke, dashes] = SEED_LINES[place % SEED_LINES.length];
  const points = line.x.map((x, i) => [scale.x(x), scale.y(line.y[i])]);
  const path = points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const group = svg("g", {}, svg("title", { text: `seed ${line.seed}` }));
  group.append(svg("path", { d: path, fill: "none", stroke, "stroke-width": 1.4, "stroke-dasharray": dashes }));
  if (points.length < 60) {
    points.forEach(([x, y]) => group.append(svg("circle", { cx: x, cy: y, r: 1.9, fill: stroke })));
  }
  return group;
}

function seedsPanel(chart, variant, scale, seeds) {
  const picture = svg("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${chart.title}, ${variant}` });
  for (const tick of ticks(scale.low, scale.high, scale.log)) {
    const y = scale.y(tick);
    picture.append(svg("path", { class: "axis", d: `M${LEFT} ${y}H${WIDE - RIGHT}` }));
    picture.append(svg("text", { x: LEFT - 5, y: y + 4, "text-anchor": "end", text: thousands(tick) }));
  }
  if (scale.never) picture.append(svg("text", { x: LEFT - 5, y: TOP + 8, "text-anchor": "end", text: "∞" }));
  for (const tick of ticks(scale.left, scale.right, false)) {
    picture.append(svg("text", { x: scale.x(tick), y: HIGH - BOTTOM + 13, "text-anchor": "middle", text: thousands(tick) }));
  }
  picture.append(svg("text", { x: (LEFT + WIDE - RIGHT) / 2, y: HIGH - 3, "text-anchor": "middle", text: chart.x }));
  const mine = chart.lines.filter((line) => line.variant === variant);
  mine.forEach((line) => picture.append(seedLine(line, scale, seeds.indexOf(line.seed))));
  return el("div", {}, el("h4", { text: variant }), picture);
}

function seedsApart(box) {
  const { charts } = dataOf(box);
  const panels = el("div", { class: "panels" });
  const legend = el("p", { class: "legend" });
  const show = (place) => {
    const chart = charts[place], scale = seedsScale(chart);
    const variants = [...new Set(chart.lines.map((line) => line.variant))];
    const seeds = [...new Set(chart.lines.map((line) => line.seed))].sort((a, b) => a - b);
    panels.replaceChildren(...variants.map((name) => seedsPanel(chart, name, scale, seeds)));
    legend.replaceChildren(...seeds.map((seed, at) => {
      const [stroke, dashes] = SEED_LINES[at % SEED_LINES.length];
      const line = svg("path", { d: "M0 6H32", stroke, "stroke-width": 2, "stroke-dasharray": dashes });
      return el("span", {}, svg("svg", { viewBox: "0 0 32 12", "aria-hidden": "true" }, line), document.createTextNode(`seed ${seed}`));
    }));
  };
  box.querySelector(".stage").append(
    el("div", { class: "tools" }, choice("Measure", charts.map((chart) => chart.title), show)),
    panels, legend,
  );
  show(0);
}

