export const UI_ENTRY = "heddle:ui";

/** The global that a bundle leaves, as the clients' script tags call it. */
export function uiGlobal(agent: string): string {
  return `__LGUI_${agent.replaceAll(/[^a-zA-Z0-9]/g, "_")}`;
}

/**
 * The components behind one function, `render`: it puts an element into the shadow root that the
 * page has made and hands the component over to the page, which draws it there.
 */
export function uiModule(path: string): string {
  return [
    `import components from ${JSON.stringify(`/${path}`)};`,
    "export function render(name, shadowRootId) {",
    "  const root = document.getElementById(shadowRootId).shadowRoot;",
    '  const target = root.appendChild(document.createElement("div"));',
    '  window[Symbol.for("LGUI_EXT_STORE")].respond(shadowRootId, components[name], target);',
    "}",
    "",
  ].join("\n");
}

const NODE_REQUIRE = 'typeof require !== "undefined" ? require';
const HOST_REQUIRE = 'globalThis[Symbol.for("LGUI_REQUIRE")]';

/** The page provides a `require` for modules outside of the bundle. */
export function withHostRequire(code: string): string {
  return code.replaceAll(NODE_REQUIRE, `typeof ${HOST_REQUIRE} !== "undefined" ? ${HOST_REQUIRE}`);
}
