// How many of an agent's runs come out above a number, beside two kinds of mean.

function profileLines(box) {
  const { measures, styles } = dataOf(box);
  const picture = new Chart("Runs above a number", (line, at) =>
    `${line.name}: ${Math.round(100 * line.y[at])}% of runs above ${short(line.x[at])}`);
  const body = el("tbody");
  let measure = measures[0];

  const number = (value) => (value === null ? "never" : short(value));
  const between = (pair) => (pair === null ? "" : ` [${number(pair[0])}, ${number(pair[1])}]`);
  function draw() {
    const agents = measure.agents.filter((agent) => who.chosen(agent.variant));
    const lines = agents.map((agent) => ({ name: agent.variant, style: styleIn(styles, agent.variant), step: true, x: measure.levels, y: agent.share }));
    picture.load({ title: measure.title, x: measure.title, log: false, range: [0, 1], lines });
    body.replaceChildren(...agents.map((agent) => el("tr", {},
      el("th", { scope: "row" }, el("span", { class: "name", text: agent.variant })),
      el("td", { text: agent.seeds }), el("td", { text: number(agent.mean) }),
      el("td", { text: number(agent.middle) + between(agent.interval) }))));
  }
  const who = switches([...new Set(measures.flatMap((one) => one.agents.map((agent) => agent.variant)))],
    (name) => styleIn(styles, name), () => draw());
  const heads = ["agent", "runs", "mean", "interquartile mean [95%]"];
  const head = el("thead", {}, el("tr", {}, ...heads.map((text) => el("th", { scope: "col", text }))));
  box.querySelector(".stage").append(
    el("div", { class: "tools" }, choice("Measure", measures.map((one) => one.title), (place) => {
      measure = measures[place];
      draw();
    })),
    who.box, picture.box, picture.readout,
    el("div", { class: "scroll", tabindex: 0 }, el("table", { class: "plain" }, head, body)),
  );
  draw();
}

