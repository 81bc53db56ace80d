"use strict";

// The search of the book. The index is a script too, loaded when the field is first used: so it works for pages that were opened as files.

const MAX_RESULTS = 20;
const wordsOf = text => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/**
 * Returns the sections that have all words of a query, or words that begin with them, as [place, title, title of the page]: first those whose title
 * or whose page's title has the words, and those with rare words; last those of pages that the contents don't list.
 */
function find(index, query) {
  let found = null;
  for (const word of new Set(wordsOf(query))) {
    const matches = sectionsWith(index, word);
    const rarity = Math.log(1 + index.sections.length / matches.size);
    found = new Map([...matches]
      .filter(([section]) => !found || found.has(section))
      .map(([section, weight]) => [section, (found?.get(section) ?? 0) + weight * rarity * inTitles(index, section, word)]));
  }
  return [...(found ?? [])]
    .map(([section, score]) => [index.sections[section], index.sections[section][0] < index.listed ? score : score / 2])
    .sort((one, other) => other[1] - one[1])
    .slice(0, MAX_RESULTS)
    .map(([[page, anchor, title]]) => [index.pages[page][0] + (anchor && "#" + anchor), title, index.pages[page][1]]);
}

/** Returns the sections with a word, or with one that begins with it, which counts less. */
function sectionsWith(index, word) {
  const matches = new Map();
  for (const [known, gaps] of Object.entries(index.words)) {
    if (known.startsWith(word)) {
      let section = 0;
      for (const gap of gaps) {
        section += gap;
        matches.set(section, known === word ? 3 : matches.get(section) ?? 1);
      }
    }
  }
  return matches;
}

/** Returns by how much more a section counts whose title, or its page's title, has a word or begins one with it. */
function inTitles(index, section, word) {
  const [page, , title] = index.sections[section];
  const has = text => wordsOf(text).some(known => known.startsWith(word));
  return 1 + (has(title) ? 3 : 0) + (has(index.pages[page][1]) ? 1 : 0);
}

/** Shows the field of the page, and below it what is found. */
function install(form, root) {
  const [field, results] = form.children;
  let index = null;
  const show = () => {
    const found = index ? find(index, field.value) : [];
    results.replaceChildren(...found.map(([place, title, page]) => {
      const link = document.createElement("a");
      link.href = root + place;
      link.textContent = title;
      const item = document.createElement("li");
      item.append(link);
      if (page !== title) {
        const where = document.createElement("small");
        where.textContent = page;
        item.append(where);
      }
      return item;
    }));
    if (index && field.value.trim() && !found.length) {
      results.append("Nothing found");
    }
  };
  globalThis.bookIndex = loaded => {
    index = loaded;
    show();
  };
  field.addEventListener("focus", () => {
    const script = document.createElement("script");
    script.src = root + "search-index.js";
    document.head.append(script);
  }, {once: true});
  field.addEventListener("input", show);
  form.addEventListener("submit", event => {
    event.preventDefault();
    results.querySelector("a")?.click();
  });
  document.addEventListener("keydown", event => {
    if (event.key === "/" && event.target !== field) {
      event.preventDefault();
      field.focus();
    }
  });
  form.hidden = false;
}

if (globalThis.document) {
  install(document.querySelector("form[role=search]"), document.currentScript.dataset.root);
}
