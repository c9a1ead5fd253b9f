import type { Page } from "playwright-core";

/**
 * Runs in the page: the controls that a finger cannot press after the page was scrolled to them, because they are
 * beyond the screen or below another element.
 */
const UNREACHABLE = `(() => {
  const CONTROLS = "a[href], button, input, select, textarea, summary, [role=slider], [role=option]";
  const nameOf = (element) =>
    element.ariaLabel || element.textContent.trim().slice(0, 60) || element.name || element.type;
  const isShown = (element) => {
    if (!element.checkVisibility({ visibilityProperty: true, opacityProperty: true })) return false;
    const { width, height } = element.getBoundingClientRect();
    return width > 2 && height > 2 && !element.matches(".skip, [aria-hidden=true] *");
  };
  const problemOf = (element) => {
    element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
    // A link over two lines has a box for each.
    const { left, right, top, bottom } = element.getClientRects()[0];
    if (left < -1 || right > innerWidth + 1) return "is beyond the side of the screen";
    if (top < -1 || bottom > innerHeight + 1) {
      if (bottom - top < innerHeight) return "is beyond the end of the screen";
    }
    const middle = Math.min(Math.max((top + bottom) / 2, 0), innerHeight - 1);
    const hit = document.elementFromPoint((left + right) / 2, middle);
    const own = [element, ...(element.labels ?? [])];
    if (own.some((each) => each.contains(hit)) || hit?.contains(element)) return null;
    return "is below " + hit?.tagName + "." + hit?.className;
  };
  const shown = [...document.querySelectorAll(CONTROLS)].filter(isShown);
  const found = shown.flatMap((element) => {
    const problem = problemOf(element);
    return problem === null ? [] : [nameOf(element) + " " + problem];
  });
  scrollTo(0, 0);
  return { controls: shown.length, found };
})()`;

/** Returns how many controls the page shows, and which of them cannot be pressed. */
export async function readControls(page: Page): Promise<{ controls: number; found: string[] }> {
  return (await page.evaluate(UNREACHABLE)) as { controls: number; found: string[] };
}
