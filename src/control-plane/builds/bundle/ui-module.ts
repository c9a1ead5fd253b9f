export const UI_ENTRY = "heddle:ui";

/** Returns the name of the global that a bundle sets. LangGraph's clients call it by this name. */
export function uiGlobal(agent: string): string {
  return `__LGUI_${agent.replaceAll(/[^a-zA-Z0-9]/g, "_")}`;
}

/**
 * Returns the entry module of a bundle, with one export, `render`. It appends an element to the shadow root that the
 * page has created, and passes the component to the page, which draws it in this element.
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

/** Makes esbuild's code load modules outside of the bundle by the `require` of the page. */
export function withHostRequire(code: string): string {
  return code.replaceAll(NODE_REQUIRE, `typeof ${HOST_REQUIRE} !== "undefined" ? ${HOST_REQUIRE}`);
}
