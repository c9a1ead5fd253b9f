import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { decrypt, encrypt, randomToken, sha256Hex } from "../../src/shared/crypto/crypto.ts";

const OLD = `old:${Buffer.alloc(32, 1).toString("base64")}`;
const NEW = `new:${Buffer.alloc(32, 2).toString("base64")}`;

describe("encrypted text", () => {
  test("comes back under the key that encrypted it", async () => {
    const sealed = await encrypt(env, "\ufeffpäss\u0000 🔑", "secrets/1");
    expect(sealed.key_id).toBe("test");
    expect(await decrypt(env, sealed, "secrets/1")).toBe("\ufeffpäss\u0000 🔑");
  });

  test("is different each time and never holds the text", async () => {
    const [a, b] = [await encrypt(env, "hunter2", "x"), await encrypt(env, "hunter2", "x")];
    expect(a.ciphertext).not.toBe(b.ciphertext);
    expect(atob(a.ciphertext)).not.toContain("hunter2");
  });

  test("does not open for another row", async () => {
    const sealed = await encrypt(env, "hunter2", "secrets/1");
    await expect(decrypt(env, sealed, "secrets/2")).rejects.toThrow("belongs to another row");
  });

  test("does not open when altered", async () => {
    const sealed = await encrypt(env, "hunter2", "x");
    const bytes = Buffer.from(sealed.ciphertext, "base64");
    bytes.writeUInt8(bytes.readUInt8(20) ^ 1, 20);
    const altered = { ...sealed, ciphertext: bytes.toString("base64") };
    await expect(decrypt(env, altered, "x")).rejects.toMatchObject({ code: "internal" });
  });

  test("outlives a rotation: the first key encrypts and all decrypt", async () => {
    const before = await encrypt({ ENCRYPTION_KEYS: OLD }, "hunter2", "x");
    const rotated = { ENCRYPTION_KEYS: `${NEW},${OLD}` };
    expect(await decrypt(rotated, before, "x")).toBe("hunter2");
    expect((await encrypt(rotated, "hunter2", "x")).key_id).toBe("new");
    await expect(decrypt({ ENCRYPTION_KEYS: NEW }, before, "x")).rejects.toThrow('the key "old"');
  });
});

test.each([
  ["", "is not set"],
  ["k:c2hvcnQ=", "has an entry"],
  ["nokey", "has an entry"],
  [`${OLD},`, "has an entry"],
  ["k:***", "has an entry"],
])("ENCRYPTION_KEYS %j is refused with its reason", async (value, text) => {
  const failure = encrypt({ ENCRYPTION_KEYS: value }, "a", "b");
  await expect(failure).rejects.toMatchObject({ code: "internal" });
  await expect(failure).rejects.toThrow(`ENCRYPTION_KEYS ${text}`);
});

test("sha256Hex and randomToken return hex and random text", () => {
  expect(sha256Hex("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(randomToken(40)).toMatch(/^[A-Za-z0-9]{40}$/);
  expect(randomToken(40)).not.toBe(randomToken(40));
});
