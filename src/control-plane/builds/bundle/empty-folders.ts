type Done = (error: Error | null, result?: unknown) => void;
type Calls = Record<string, unknown>;

/** File descriptor of every folder. */
const FOLDER = 3;
const ENOENT = Object.assign(new Error("no such file"), { code: "ENOENT" });
const EISDIR = Object.assign(new Error("it is a folder"), { code: "EISDIR" });
/** Answers every number of a folder, such as its size, with 0. */
const STAT = new Proxy<Calls>(
  { isDirectory: () => true },
  { get: (own, name) => Reflect.get(own, name) ?? 0 },
);

/**
 * Returns the part of Node's `fs` that esbuild calls. Every folder is empty. esbuild looks for imports that the plugin
 * did not resolve, for the files of `import("./tools/" + name)`, and for source maps of packages.
 */
export function emptyFolders(): object {
  const calls: Calls = {
    constants: new Proxy({}, { get: () => -1 }),
    write(fd: number, bytes: Uint8Array, _from: number, _length: number, _at: null, done: Done) {
      const writeSync = calls.writeSync as (fd: number, bytes: Uint8Array) => number;
      done(null, writeSync(fd, bytes));
    },
    open: (path: string, _flags: number, _mode: number, done: Done) =>
      path.endsWith(".map") ? done(ENOENT) : done(null, FOLDER),
    fstat: (_fd: number, done: Done) => done(null, STAT),
    readdir: (_path: string, done: Done) => done(null, []),
    close: (_fd: number, done: Done) => done(null),
  };
  return new Proxy(calls, {
    get: (own, name) => Reflect.get(own, name) ?? ((...args: unknown[]) => lastOf(args)(ENOENT)),
    // esbuild assigns `read` and `writeSync`, by which it receives requests and sends responses.
    set: (own, name, call) => Reflect.set(own, name, name === "read" ? withoutFolder(call) : call),
  });
}

function withoutFolder(read: (...args: unknown[]) => void) {
  return (...args: unknown[]) => (args[0] === FOLDER ? lastOf(args)(EISDIR) : read(...args));
}

function lastOf(args: unknown[]): Done {
  return args.at(-1) as Done;
}
