/* What a search puts first: the name that was typed, then pages; fields and methods of classes after both. */
const asked = () => (new URLSearchParams(window.location.search).get("q") || "").trim().toLowerCase();
var Scorer = {
  score: ([page, title, anchor, said, score]) => {
    const name = title.toLowerCase();
    const deep = /^optmap\.(?:\w+\.)+\w+$/.test(name);
    if (name === asked() || name === `optmap.${asked()}`) return score + 40;
    return deep ? score - 25 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
