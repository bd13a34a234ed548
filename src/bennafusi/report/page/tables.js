// The numbers behind the figures: sorted by any column, and as the very file.

const MOST_ROWS = 200;

// CSV as Python's csv module writes it.
function parseCsv(text) {
  const rows = [[]];
  let cell = "";
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const sign = text[i];
    if (quoted) {
      if (sign !== '"') cell += sign;
      else if (text[i + 1] === '"') cell += text[++i];
      else quoted = false;
    } else if (sign === '"') quoted = true;
    else if (sign === "," || sign === "\n") {
      rows[rows.length - 1].push(cell);
      cell = "";
      if (sign === "\n") rows.push([]);
    } else cell += sign;
  }
  rows.pop();
  return rows;
}

function numberOf(cell) {
  if (cell === "inf") return Infinity;
  if (cell === "-inf") return -Infinity;
  if (cell === "nan") return NaN;
  return cell.trim() === "" ? null : Number.isNaN(Number(cell)) ? null : Number(cell);
}

function compare(one, other) {
  const [a, b] = [numberOf(one), numberOf(other)];
  if (a === null || b === null) return one < other ? -1 : one > other ? 1 : 0;
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
  return a === b ? 0 : a - b;
}

function download(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  const link = el("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function numbersTable(box) {
  const { name, csv } = dataOf(box);
  const [columns, ...rows] = parseCsv(csv);
  const body = el("tbody");
  const count = el("span", { class: "soft" });
  let sorted = { column: -1, down: false };

  const fill = () => {
    const shown = rows.slice(0, MOST_ROWS).map((row) =>
      el("tr", {}, ...row.map((cell) => {
        const number = numberOf(cell);
        return el("td", { text: number === null ? cell : short(number), title: cell });
      })),
    );
    body.replaceChildren(...shown);
    count.textContent = rows.length > MOST_ROWS
      ? `the first ${MOST_ROWS} of ${rows.length.toLocaleString("en")} rows; the file has all of them`
      : "";
  };
  const heads = columns.map((column, place) =>
    el("th", { scope: "col", "aria-sort": "none" },
      el("button", { type: "button", text: column, onclick: () => sort(place) })),
  );
  function sort(place) {
    sorted = { column: place, down: sorted.column === place && !sorted.down };
    const sign = sorted.down ? -1 : 1;
    rows.sort((a, b) => sign * compare(a[place], b[place]));
    heads.forEach((head, other) => {
      const way = sorted.down ? "descending" : "ascending";
      head.setAttribute("aria-sort", other === place ? way : "none");
    });
    fill();
  }

  const button = el("button", {
    type: "button", class: "act csv", text: `Download ${name}`, onclick: () => download(name, csv),
  });
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...heads)), body);
  box.querySelector(".stage").append(
    el("div", { class: "tools" }, button, count),
    el("div", { class: "scroll", tabindex: 0 }, table),
  );
  fill();
}

