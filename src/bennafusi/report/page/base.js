// What every part of the page uses. Text from runs only ever becomes textContent.

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "text") node.textContent = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function svg(tag, attributes, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "text") node.textContent = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

function dataOf(box) {
  return JSON.parse(box.querySelector("script[type='application/json']").textContent);
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function choice(label, names, chosen) {
  const list = el("select", { onchange: () => chosen(list.selectedIndex) });
  names.forEach((name) => list.append(el("option", { text: name })));
  return el("label", {}, document.createTextNode(label), list);
}

function agentName(film) {
  return `${film.agent}, seed ${film.seed}`;
}

// Numbers of 16 bits, little-endian in base64, between low and high.
function unpack(packed) {
  const bytes = atob(packed.words);
  const found = new Float32Array(bytes.length / 2);
  const span = (packed.high - packed.low) / 65535;
  for (let i = 0; i < found.length; i++) {
    const word = bytes.charCodeAt(2 * i) + 256 * bytes.charCodeAt(2 * i + 1);
    found[i] = packed.low + span * word;
  }
  return found;
}

function short(number) {
  if (Number.isNaN(number)) return "-";
  if (!Number.isFinite(number)) return number > 0 ? "never" : "-never";
  const size = Math.abs(number);
  if (Number.isInteger(number) || size >= 100) return Math.round(number).toLocaleString("en");
  return String(Number(number.toPrecision(3)));
}

function thousands(number) {
  if (number >= 1e9) return number.toExponential(0).replace("+", "");
  if (number >= 1e6) return `${Number((number / 1e6).toPrecision(3))}M`;
  return number >= 1e3 ? `${Number((number / 1e3).toPrecision(3))}k` : String(Number(number.toPrecision(3)));
}

// A canvas as wide as its place, sharp on every screen. draw(pen, width) says how high it was
// asked to be by height(width).
const canvases = [];

class Picture {
  constructor(label, height, draw) {
    this.canvas = el("canvas", { role: "img", "aria-label": label });
    this.height = height;
    this.draw = draw;
    canvases.push(this);
    new ResizeObserver(() => this.paint()).observe(this.canvas);
  }

  paint() {
    const width = this.canvas.clientWidth;
    if (!width) return;
    const height = this.height(width);
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w;
      this.canvas.height = h;
      this.canvas.style.height = `${height}px`;
    }
    const pen = this.canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    this.draw(pen, width, height);
  }
}

function repaint() {
  canvases.forEach((picture) => picture.paint());
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
addEventListener("beforeprint", () => {
  document.documentElement.setAttribute("data-print", "");
  repaint();
});
addEventListener("afterprint", () => {
  document.documentElement.removeAttribute("data-print");
  repaint();
});

