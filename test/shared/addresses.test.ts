import { expect, test } from "vitest";
import { isPublicHost, refusal } from "../../src/shared/egress/addresses.ts";

const REFUSED = [
  "https://127.0.0.1/",
  "https://127.1/",
  "https://2130706433/",
  "https://0x7f000001/",
  "https://0x7f.0.0.1/",
  "https://0177.0.0.1/",
  "https://127.0.0.1./",
  "https://0.0.0.0/",
  "https://10.1.2.3/",
  "https://100.64.0.1/",
  "https://169.254.169.254/latest/meta-data/",
  "https://172.16.0.1/",
  "https://172.31.255.255/",
  "https://192.168.1.1/",
  "https://192.0.0.192/",
  "https://198.18.0.1/",
  "https://224.0.0.1/",
  "https://255.255.255.255/",
  "https://[::]/",
  "https://[::1]/",
  "https://[::ffff:127.0.0.1]/",
  "https://[::ffff:10.0.0.1]/",
  "https://[::127.0.0.1]/",
  "https://[64:ff9b::7f00:1]/",
  "https://[2002:7f00:1::]/",
  "https://[2001:0:1::]/",
  "https://[2001:db8::1]/",
  "https://[fc00::1]/",
  "https://[fd12:3456::1]/",
  "https://[fe80::1]/",
  "https://[fec0::1]/",
  "https://[ff02::1]/",
  "https://localhost/",
  "https://LOCALHOST./",
  "https://api.localhost/",
  "https://metadata.google.internal/",
  "https://printer.local/",
  "https://intranet/",
  "https://router.home.arpa/",
  "https://127.0.0.1../",
  "https://127.0.0.1.../",
  "https://example..com/",
  "https://.example.com/",
  "https://example.com../",
  "https://example.1a/",
  "https://kubernetes.default.svc/",
  "https://kubernetes.default.svc.cluster.local/",
  "https://split.corp.example/",
  "https://a.test/",
  "https://a.invalid/",
  "https://a.onion/",
  "https://1.0.0.127.in-addr.arpa/",
  "https://a.internal./",
  "https://a.\uff4c\uff4f\uff43\uff41\uff4c/",
  "https://\uff11\uff12\uff17.0.0.1/",
  "https://127\u30020\u30020\u30021/",
  "http://example.com/",
  "ftp://example.com/",
  "file:///etc/passwd",
];

const PUBLIC = [
  "https://github.com/",
  "https://8.8.8.8/",
  "https://172.32.0.1/",
  "https://192.169.0.1/",
  "https://100.128.0.1/",
  "https://[2606:4700:4700::1111]/",
  "https://[2001:4860:4860::8888]/",
  "https://[::ffff:8.8.8.8]/",
  "https://internal.example.com/",
  "https://localhost.example.com/",
  "https://b\u00fccher.de/",
  "https://example.\u4e2d\u56fd/",
  "https://example.com./",
];

test.each(REFUSED)("%s is refused", (text) => {
  const url = URL.parse(text);
  // Texts that the parser refuses reach no rule and no network.
  if (url !== null) expect(refusal(url, { allow_private: false })).toEqual(expect.any(String));
});

test.each(PUBLIC)("%s is public", (url) => {
  expect(refusal(new URL(url), { allow_private: false })).toBeNull();
});

test("an installation may allow private addresses and plain http, never another protocol", () => {
  const open = { allow_private: true };
  expect(refusal(new URL("http://127.0.0.1:9300/"), open)).toBeNull();
  expect(refusal(new URL("file:///etc/passwd"), open)).toContain("file:");
  expect(isPublicHost("127.0.0.1")).toBe(false);
});
