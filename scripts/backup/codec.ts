// How chunks and manifests look in the bucket: compressed, and encrypted when there is a key.
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
} from "node:crypto";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { BackupError } from "./problem.ts";

export type Codec = {
  isEncrypted: boolean;
  /** Returns the hash of the content; with a key an HMAC, so that names do not reveal known content. */
  nameOf(content: Uint8Array): string;
  seal(content: Uint8Array): Promise<Uint8Array>;
  open(sealed: Uint8Array): Promise<Uint8Array>;
};

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const compress = promisify(gzip);
const decompress = promisify(gunzip);

export function readKey(env: NodeJS.ProcessEnv): Buffer | null {
  const text = env.BACKUP_KEY ?? "";
  if (text === "") return null;
  const key = Buffer.from(text, "base64");
  if (key.length === 32) return key;
  throw new BackupError("BACKUP_KEY must be 32 bytes in base64: openssl rand -base64 32");
}

export function createCodec(key: Buffer | null): Codec {
  return key === null ? plainCodec() : encryptedCodec(key);
}

function plainCodec(): Codec {
  return {
    isEncrypted: false,
    nameOf: (content) => createHash("sha256").update(content).digest("hex"),
    seal: (content) => compress(content, { level: 1 }),
    open: (sealed) => decompress(sealed),
  };
}

function encryptedCodec(key: Buffer): Codec {
  const derive = (use: string) => Buffer.from(hkdfSync("sha256", key, "", `heddle ${use}`, 32));
  const [name_key, content_key] = [derive("backup names"), derive("backup content")];
  const plain = plainCodec();
  return {
    isEncrypted: true,
    nameOf: (content) => createHmac("sha256", name_key).update(content).digest("hex"),
    async seal(content) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, content_key, nonce);
      const text = [cipher.update(await plain.seal(content)), cipher.final()];
      return Buffer.concat([nonce, cipher.getAuthTag(), ...text]);
    },
    async open(sealed) {
      const text = NONCE_BYTES + TAG_BYTES;
      const decipher = createDecipheriv(CIPHER, content_key, sealed.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(sealed.subarray(NONCE_BYTES, text));
      return plain.open(Buffer.concat([decipher.update(sealed.subarray(text)), decipher.final()]));
    },
  };
}
