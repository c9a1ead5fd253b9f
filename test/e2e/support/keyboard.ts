import type { Page } from "playwright-core";

const MAX_TABS = 120;

/** Runs in the page: the name of the element with the focus, and whether a reader sees that it has it. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  const rings = [element, element.parentElement, element.parentElement?.parentElement]
    .filter((each) => each)
    .map((each) => getComputedStyle(each))
    .filter(({ outlineStyle, boxShadow }) => outlineStyle !== "none" || boxShadow !== "none");
  const label = element.labels?.[0]?.textContent;
  return {
    name: (element.ariaLabel ?? label ?? element.textContent ?? "").trim(),
    isSeen: rings.length > 0 || element.tagName === "BODY",
  };
})()`;

/** Presses Tab until the named element has the focus. @throws when none has the name, or a focus cannot be seen */
export async function tabTo(page: Page, wanted: RegExp): Promise<void> {
  const passed: string[] = [];
  for (let n = 0; n < MAX_TABS; n += 1) {
    await page.keyboard.press("Tab");
    const { name, isSeen } = (await page.evaluate(FOCUSED)) as { name: string; isSeen: boolean };
    if (!isSeen) throw new Error(`The focus of "${name}" cannot be seen.`);
    if (wanted.test(name)) return;
    passed.push(name.slice(0, 40));
  }
  throw new Error(`Tab does not reach ${wanted}, and passes ${passed.join(", ")}`);
}

/** Moves the focus to the named element by Tab, and presses Enter. */
export async function enter(page: Page, wanted: RegExp): Promise<void> {
  await tabTo(page, wanted);
  await page.keyboard.press("Enter");
}
