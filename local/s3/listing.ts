import { S3Error } from "./errors.ts";
import { type BucketExchange, sendXml } from "./exchange.ts";
import { encodePath } from "./signature.ts";
import type { StoredObject } from "./store.ts";
import { elements } from "./xml.ts";

type Page = { objects: StoredObject[]; prefixes: string[]; last: string; isTruncated: boolean };
type Wanted = { prefix: string; delimiter: string; after: string; limit: number };

const PAGE_LIMIT = 1000;

/** ListObjects, versions 1 and 2. */
export function listObjects(exchange: BucketExchange): void {
  const { query, bucket } = exchange;
  const wanted = readWanted(query);
  const page = takePage([...bucket.objects.values()], wanted);
  const encode = query.get("encoding-type") === "url" ? encodePath : (text: string) => text;
  const prefixes = page.prefixes.map((each) => elements({ Prefix: encode(each) }));
  const parts = [
    elements({ Name: bucket.name, Prefix: encode(wanted.prefix), MaxKeys: wanted.limit }),
    elements(optional("Delimiter", encode(wanted.delimiter))),
    elements(optional("EncodingType", query.get("encoding-type") ?? "")),
    elements({ KeyCount: page.objects.length + page.prefixes.length }),
    elements({ IsTruncated: page.isTruncated }),
    elements(page.isTruncated ? nextOf(isV2(query), page.last, encode) : {}),
    ...page.objects.map((object) => contents(object, encode)),
    ...prefixes.map((prefix) => `<CommonPrefixes>${prefix}</CommonPrefixes>`),
  ];
  sendXml(exchange, "ListBucketResult", parts.join(""));
}

function isV2(query: URLSearchParams): boolean {
  return query.get("list-type") === "2";
}

function readWanted(query: URLSearchParams): Wanted {
  const limit = Math.min(PAGE_LIMIT, Number(query.get("max-keys") ?? PAGE_LIMIT));
  if (!(limit >= 0)) throw new S3Error("InvalidArgument", "max-keys is not a number.");
  const after = isV2(query) ? startOfV2(query) : (query.get("marker") ?? "");
  const [prefix = "", delimiter = ""] = ["prefix", "delimiter"].map(
    (name) => query.get(name) ?? "",
  );
  return { prefix, delimiter, after, limit };
}

function optional(name: string, value: string): Record<string, string> {
  return value === "" ? {} : { [name]: value };
}

function startOfV2(query: URLSearchParams): string {
  const token = query.get("continuation-token");
  if (token === null) return query.get("start-after") ?? "";
  return Buffer.from(token, "base64url").toString();
}

function nextOf(v2: boolean, last: string, encode: (text: string) => string) {
  if (!v2) return { NextMarker: encode(last) };
  return { NextContinuationToken: Buffer.from(last).toString("base64url") };
}

function contents(object: StoredObject, encode: (text: string) => string): string {
  const fields = elements({
    Key: encode(object.key),
    LastModified: new Date(object.modified_at).toISOString(),
    ETag: `"${object.etag}"`,
    Size: object.size,
    StorageClass: "STANDARD",
  });
  return `<Contents>${fields}</Contents>`;
}

function takePage(all: StoredObject[], wanted: Wanted): Page {
  const page: Page = { objects: [], prefixes: [], last: "", isTruncated: false };
  const sorted = all
    .filter(({ key }) => key.startsWith(wanted.prefix))
    .sort((a, b) => Buffer.compare(Buffer.from(a.key), Buffer.from(b.key)));
  for (const object of sorted) {
    const folder = folderOf(object.key, wanted);
    const name = folder ?? object.key;
    if (isBefore(name, folder, wanted.after) || name === page.last) continue;
    if (page.objects.length + page.prefixes.length >= wanted.limit) {
      return { ...page, isTruncated: wanted.limit > 0 };
    }
    if (folder === null) page.objects.push(object);
    else page.prefixes.push(folder);
    page.last = name;
  }
  return page;
}

function isBefore(name: string, folder: string | null, after: string): boolean {
  const isPast = Buffer.compare(Buffer.from(name), Buffer.from(after)) <= 0;
  return isPast || (folder !== null && after.startsWith(folder));
}

function folderOf(key: string, { prefix, delimiter }: Wanted): string | null {
  const at = delimiter === "" ? -1 : key.indexOf(delimiter, prefix.length);
  return at < 0 ? null : key.slice(0, at + delimiter.length);
}
