import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";

/** Makes git objects and packs, damaged ones too, and the answers of a host that serves them. */

const TYPES = { commit: 1, tree: 2, blob: 3, tag: 4, offset_delta: 6, ref_delta: 7 };

export type PackObject = {
  type: keyof typeof TYPES;
  data: Uint8Array;
  /** Another size than that of the data. */
  size?: number;
  base?: Uint8Array;
};

export const blob = (text: string): PackObject => ({ type: "blob", data: Buffer.from(text) });

export function tree(entries: [mode: string, name: string, oid: string][]): PackObject {
  const parts = entries.map(([mode, name, oid]) =>
    Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, "hex")]),
  );
  return { type: "tree", data: Buffer.concat(parts) };
}

export function commit(tree_oid: string): PackObject {
  const author = "a <a@example.com> 1700000000 +0000";
  const text = `tree ${tree_oid}\nauthor ${author}\ncommitter ${author}\n\nmessage\n`;
  return { type: "commit", data: Buffer.from(text) };
}

export function oidOf({ type, data }: PackObject): string {
  return createHash("sha1").update(`${type} ${data.byteLength}\0`).update(data).digest("hex");
}

/** Levels of trees that name the same subtree `width` times, and a commit of the outermost. */
export function treeBomb(levels: number, width: number): PackObject[] {
  const objects = [tree([])];
  for (let level = 0; level < levels; level++) {
    const oid = oidOf(objects.at(-1) as PackObject);
    const names = Array.from({ length: width }, (_, n) => `d${n}`);
    objects.push(tree(names.map((name) => ["40000", name, oid])));
  }
  return [...objects, commit(oidOf(objects.at(-1) as PackObject))];
}

export function packOf(objects: PackObject[], count = objects.length): Buffer {
  const header = Buffer.alloc(12);
  header.write("PACK");
  header.writeUInt32BE(2, 4);
  header.writeUInt32BE(count, 8);
  const parts = objects.flatMap(({ type, data, size = data.byteLength, base }) => [
    headerOf(TYPES[type], size),
    base ?? Buffer.alloc(0),
    deflateSync(data),
  ]);
  const body = Buffer.concat([header, ...parts]);
  return Buffer.concat([body, createHash("sha1").update(body).digest()]);
}

function headerOf(type: number, size: number): Buffer {
  const bytes = [(type << 4) | (size & 15)];
  for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
    bytes.push(rest & 127);
  }
  return Buffer.from(bytes.map((byte, n) => (n + 1 < bytes.length ? byte | 128 : byte)));
}

export function sizeBytes(size: number): number[] {
  const bytes = [];
  for (let rest = size; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest & 127) | 128);
  }
}

function line(data: Uint8Array | string): Buffer {
  const bytes = Buffer.from(data);
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, "0")), bytes]);
}

/** The answer to `GET /info/refs`. */
export function refsAnswer(head: string): Buffer {
  const capabilities = "side-band-64k shallow ofs-delta symref=HEAD:refs/heads/main agent=git/2";
  return Buffer.concat([
    line("# service=git-upload-pack\n"),
    Buffer.from("0000"),
    line(`${head} HEAD\0${capabilities}\n`),
    line(`${head} refs/heads/main\n`),
    Buffer.from("0000"),
  ]);
}

/** The answer to `POST /git-upload-pack`. */
export function packAnswer(pack: Uint8Array, head: string): Buffer {
  const parts = [line(`shallow ${head}\n`), Buffer.from("0000"), line("NAK\n")];
  for (let at = 0; at < pack.byteLength; at += 65_000) {
    parts.push(line(Buffer.concat([Buffer.from([1]), pack.subarray(at, at + 65_000)])));
  }
  return Buffer.concat([...parts, Buffer.from("0000")]);
}
