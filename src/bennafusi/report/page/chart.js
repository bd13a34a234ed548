// Lines on axes, as wide as their place; whoever points at one reads it off.

const CHART = { high: 300, left: 52, right: 12, top: 10, bottom: 40 };

function extent(numbers) {
  let low = Infinity, high = -Infinity;
  for (const number of numbers) {
    if (number === null) continue;
    low = Math.min(low, number);
    high = Math.max(high, number);
  }
  // Far apart as they may be, their distance must be a number.
  return low <= high ? [Math.max(low, -1e300), Math.min(high, 1e300)] : [0, 1];
}

function ticks(low, high, log) {
  if (log) {
    const found = [];
    const [from, to] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    const parts = to - from > 2 ? [1] : [1, 2, 5], every = Math.ceil((to - from) / 12) || 1;
    for (let power = from; power <= to; power += every) {
      parts.forEach((part) => found.push(part * 10 ** power));
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

// Where numbers lie on the picture; null is never, on a line of its own above all others.
function scalesOf(spec, width) {
  const [left, right] = extent(spec.lines.flatMap((line) => line.x));
  let [low, high] = spec.range || extent(spec.lines.flatMap((line) => line.y));
  const log = spec.log && low > 0;
  if (low === high) [low, high] = log ? [low / 2, high * 2] : [low - 1, high + 1];
  const never = spec.lines.some((line) => line.y.includes(null));
  const top = CHART.top + (never ? 24 : 0), bottom = CHART.high - CHART.bottom;
  const level = log ? Math.log : (y) => y;
  const share = (y) => (level(y) - level(low)) / (level(high) - level(low));
  return {
    log, low, high, left, right, never,
    x: (x) => CHART.left + ((x - left) / (right - left || 1)) * (width - CHART.left - CHART.right),
    y: (y) => (y === null ? CHART.top + 6 : bottom - share(y) * (bottom - top)),
  };
}

function axesOf(picture, spec, scale, width) {
  const bottom = CHART.high - CHART.bottom;
  const word = (x, y, text, anchor) => picture.append(svg("text", { x, y, text, "text-anchor": anchor }));
  for (const tick of ticks(scale.low, scale.high, scale.log)) {
    const y = scale.y(tick);
    picture.append(svg("path", { class: "axis", d: `M${CHART.left} ${y}H${width - CHART.right}` }));
    word(CHART.left - 6, y + 4, thousands(tick), "end");
  }
  if (scale.never) word(CHART.left - 6, CHART.top + 11, "∞", "end");
  for (const tick of ticks(scale.left, scale.right, false)) {
    word(scale.x(tick), bottom + 16, thousands(tick), "middle");
  }
  word((CHART.left + width - CHART.right) / 2, CHART.high - 6, spec.x, "middle");
}

// A line as the figures have it; thin ones, of single seeds, are not broken.
function stroke(path, style, thin) {
  const width = thin ? 1 : 2.2;
  const dashes = thin ? [] : style.dashes.map((part) => (part * width).toFixed(1));
  return svg("path", {
    d: path, fill: "none", stroke: style.colour, "stroke-width": width, "stroke-linejoin": "round", "stroke-dasharray": dashes.join(" ") || "none",
  });
}

function mark(x, y, style, size) {
  return svg("polygon", { class: "mark", points: style.corners, fill: style.colour, transform: `translate(${x} ${y}) scale(${size})` });
}

class Chart {
  // say(line, at) puts a point into words.
  constructor(label, say) {
    this.say = say;
    this.box = el("div", { class: "chart" });
    this.readout = el("output", { class: "readout" });
    this.label = label;
    new ResizeObserver(() => {
      if (this.spec && this.box.clientWidth !== this.width) this.paint();
    }).observe(this.box);
    this.box.addEventListener("pointermove", (event) => this.point(event));
    this.box.addEventListener("pointerdown", (event) => this.point(event));
    this.box.addEventListener("pointerleave", () => this.leave());
  }

  load(spec) {
    this.spec = spec;
    this.paint();
  }

  paint() {
    const width = this.box.clientWidth, { spec } = this;
    if (!width) return;
    const scale = scalesOf(spec, width);
    this.width = width;
    const picture = svg("svg", {
      viewBox: `0 0 ${width} ${CHART.high}`, height: CHART.high, role: "img", "aria-label": `${this.label}: ${spec.title}`,
    });
    axesOf(picture, spec, scale, width);
    this.points = [];
    for (const line of spec.lines) {
      const places = line.x.map((x, i) => [scale.x(x), scale.y(line.y[i])]);
      places.forEach(([x, y], i) => this.points.push([x, y, line, i]));
      const to = (x, y, i) => (line.step && i ? `H${x}V${y}` : `${i ? "L" : "M"}${x} ${y}`);
      const path = places.map(([x, y], i) => to(x.toFixed(1), y.toFixed(1), i)).join("");
      const group = svg("g", { "data-agent": line.name, opacity: line.faint ? 0.4 : 1 });
      group.append(stroke(path, line.style, line.faint));
      if (places.length < 40 && !line.step) {
        places.forEach(([x, y]) => group.append(mark(x, y, line.style, line.faint ? 3.6 : 7)));
      }
      picture.append(group);
    }
    this.spot = svg("circle", { r: 6, fill: "none", stroke: "currentColor", "stroke-width": 2, visibility: "hidden" });
    picture.append(this.spot);
    this.box.replaceChildren(picture);
    this.leave();
  }

  point(event) {
    const at = this.box.getBoundingClientRect();
    const [x, y] = [event.clientX - at.left, event.clientY - at.top];
    let best = null, least = 60 ** 2;
    for (const point of this.points || []) {
      const gap = (point[0] - x) ** 2 + (point[1] - y) ** 2;
      if (gap < least) [best, least] = [point, gap];
    }
    if (!best) return this.leave();
    this.spot.setAttribute("cx", best[0]);
    this.spot.setAttribute("cy", best[1]);
    this.spot.setAttribute("visibility", "visible");
    this.readout.textContent = this.say(best[2], best[3]);
  }

  leave() {
    this.spot.setAttribute("visibility", "hidden");
    this.readout.textContent = "Point at a line to read it off.";
  }
}

// Names that can be taken out and put back; chosen(name) says whether one is in.
function switches(names, styleOf, changed) {
  const out = new Set();
  const buttons = names.map((name) => {
    const button = el("button", { type: "button", class: "switch", "aria-pressed": "true" });
    if (styleOf) {
      const style = styleOf(name);
      button.append(svg("svg", { viewBox: "0 0 40 12", "aria-hidden": "true" }, stroke("M0 6H40", style), mark(20, 6, style, 8)));
    }
    button.append(document.createTextNode(styleOf ? name : `seed ${name}`));
    button.addEventListener("click", () => {
      if (!out.delete(name)) out.add(name);
      button.setAttribute("aria-pressed", String(!out.has(name)));
      changed();
    });
    return button;
  });
  return { box: el("div", { class: "switches" }, ...buttons), chosen: (name) => !out.has(name) };
}

function styleIn(styles, name) {
  const found = Object.hasOwn(styles, name) ? styles[name] : { colour: "#7f7f7f", dashes: [], corners: "" };
  return found.colour === "#000000" ? { ...found, colour: "currentColor" } : found;
}

