// What is in a closed part is made when it is opened.

function whenOpen(box, make) {
  box.addEventListener("toggle", () => make(box), { once: true });
}

const EXHIBITS = { values: valueFilms, beakers: levelFilms, play: playFilms };
document.querySelectorAll("details.numbers").forEach((box) => whenOpen(box, numbersTable));
document.querySelectorAll("details.exhibit").forEach((box) => whenOpen(box, seedsApart));
document.querySelectorAll("figure.exhibit").forEach((box) => {
  box.querySelector(".stage").replaceChildren();
  EXHIBITS[box.dataset.kind](box);
});
