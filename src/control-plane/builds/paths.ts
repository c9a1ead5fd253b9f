/** Functions on paths with slashes. None of them accesses files. */

/** Folder in which workerd shows the modules of an isolate as files. */
export const BUNDLE_FOLDER = "/bundle";

export function directoryOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash < 0 ? "" : path.slice(0, slash);
}

/** Joins and normalizes. An absolute `path` replaces `base`. A `..` at the root has no effect. */
export function joinPath(base: string, path: string): string {
  const full = path.startsWith("/") ? path : `${base}/${path}`;
  const segments: string[] = [];
  for (const segment of full.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment);
  }
  const isAbsolute = path.startsWith("/") || base.startsWith("/");
  return `${isAbsolute ? "/" : ""}${segments.join("/")}`;
}

/** `/a/b` yields `/a/b`, `/a`, and the empty root. */
export function* ancestors(directory: string): Generator<string> {
  for (let path = directory; ; path = directoryOf(path)) {
    yield path;
    if (path === "") return;
  }
}
