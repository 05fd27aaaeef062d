// Sets the theme before the first paint. src/theme.ts keeps it up to date afterwards.
(() => {
  let theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  try {
    const chosen = JSON.parse(localStorage.getItem("countersign.v1.theme"));
    if (chosen === "light" || chosen === "dark") theme = chosen;
  } catch {
    // Without storage the system's theme is used.
  }
  document.documentElement.dataset.theme = theme;
})();
