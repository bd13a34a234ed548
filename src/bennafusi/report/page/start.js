// What is in a closed part is made when it is opened; a link to a part inside opens it.

function whenOpen(box, make) {
  box.addEventListener("toggle", () => make(box), { once: true });
}

function reveal() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const box = place && place.closest("details");
  if (!box) return;
  box.open = true;
  place.scrollIntoView();
}

// The overview shows each experiment's first picture, which is in the page but once.
document.querySelectorAll("a.card").forEach((card) => {
  const shown = document.querySelector(`${card.getAttribute("href")} figure img`);
  if (shown) card.prepend(el("img", { src: shown.src, alt: "" }));
});

const EXHIBITS = {
  seeds: seedsApart, depths: depthFilms, play: playFilms, values: valueFilms, beakers: levelFilms, profiles: profileLines,
};
document.querySelectorAll("details.numbers").forEach((box) => whenOpen(box, numbersTable));
document.querySelectorAll("figure.exhibit").forEach((box) => {
  box.querySelector(".stage").replaceChildren();
  EXHIBITS[box.dataset.kind](box);
});
addEventListener("hashchange", reveal);
document.addEventListener("click", (event) => {
  if (event.target.closest("a[href^='#c']")) setTimeout(reveal);  // also when it was the last one
});
reveal();

// On paper the claims are open, and as they were before afterwards.
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details.claims:not([open])")];
  opened.forEach((box) => { box.open = true; });
});
addEventListener("afterprint", () => opened.forEach((box) => { box.open = false; }));
