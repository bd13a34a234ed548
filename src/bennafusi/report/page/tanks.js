// Beakers: tanks whose liquid stands as high as the variable, each wider than the one before it
// and joined to it by a thinner tube.

function tankPlaces(n, width, margin) {
  const growth = n <= 8 ? 1.45 : 1.02;
  const gap = n <= 8 ? 0.55 : 0.3;
  let room = 0, size = 1;
  for (let k = 0; k < n; k++, size *= growth) room += size + (k ? gap : 0);
  const unit = Math.min((width - 2 * margin) / room, 90);
  let x = margin;
  size = 1;
  const found = [];
  for (let k = 0; k < n; k++, size *= growth) {
    found.push({ x, w: size * unit });
    x += (size + gap) * unit;
  }
  return found;
}

// levels: of every beaker; from low to high is what can be seen.
function drawTanks(pen, width, height, levels, { low, high, awake, names }) {
  const margin = 46, top = 12, bottom = height - 36;
  const pad = (high - low || 1) * 0.06;
  const y = (level) => bottom - ((level - low + pad) / (high - low + 2 * pad || 1)) * (bottom - top);
  const places = tankPlaces(levels.length, width, margin);
  const end = places[places.length - 1].x + places[places.length - 1].w;
  const [glass, liquid, soft] = [colour("glass"), colour("liquid"), colour("soft")];
  pen.fillStyle = soft;
  pen.textAlign = "right";
  const marks = low < 0 && high > 0 ? [low, 0, high] : [low, high];
  marks.forEach((mark) => {
    if (mark && Math.abs(y(mark) - y(0)) < 12 && marks.length > 2) return;
    pen.fillText(mark ? String(Number(mark.toPrecision(2))) : "0", margin - 8, y(mark) + 4);
  });
  places.forEach(({ x, w }, k) => {
    const open = k < awake;
    pen.globalAlpha = open ? 1 : 0.3;
    if (k) {
      const before = places[k - 1];
      const thick = Math.max(0.8, 9 / (1 + 0.7 * k));
      pen.fillStyle = liquid;
      pen.fillRect(before.x + before.w, bottom - thick - 2, x - before.x - before.w, thick);
    }
    pen.fillStyle = liquid;
    pen.fillRect(x, y(levels[k]), w, bottom - y(levels[k]));
    pen.strokeStyle = glass;
    pen.lineWidth = levels.length > 12 ? 1 : 1.6;
    pen.beginPath();
    pen.moveTo(x, top);
    pen.lineTo(x, bottom);
    pen.lineTo(x + w, bottom);
    pen.lineTo(x + w, top);
    pen.stroke();
  });
  pen.globalAlpha = 1;
  if (low < 0 && high > 0) {
    pen.strokeStyle = soft;
    pen.setLineDash([3, 4]);
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(margin - 4, y(0));
    pen.lineTo(end + 4, y(0));
    pen.stroke();
    pen.setLineDash([]);
  }
  pen.textAlign = "center";
  pen.fillStyle = soft;
  const every = Math.ceil(levels.length / Math.max(1, Math.floor((end - margin) / 46)));
  places.forEach(({ x, w }, k) => {
    if (k % every && k !== levels.length - 1) return;
    if (k % every === 0 && k !== levels.length - 1 && levels.length - 1 - k < every / 2) return;
    pen.fillText(names[k][0], x + w / 2, bottom + 15);
    pen.fillText(names[k][1], x + w / 2, bottom + 29);
  });
}

const SMALL = "₀₁₂₃₄₅₆₇₈₉", RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
function digits(number, signs) {
  return String(number).replace(/\d/g, (digit) => signs[Number(digit)]);
}

