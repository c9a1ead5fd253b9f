import { expect, test } from "vitest";
import type { UrlRules } from "../../../src/agent-server/webhooks/rules/settings.ts";
import { brokenRule } from "../../../src/agent-server/webhooks/rules/url-rules.ts";

const DOMAINS = { allowed_domains: ["hooks.example.com", "*.Example.org", "münchen.example"] };

test.each<[UrlRules, string]>([
  [{}, "http://anywhere.example:81/"],
  [{ allowed_domains: [], allowed_ports: [] }, "http://anywhere.example:81/"],
  [{ require_https: true }, "https://anywhere.example/"],
  [{ require_https: true, ...DOMAINS, allowed_ports: [443] }, "/custom/webhook"],
  [DOMAINS, "https://HOOKS.example.com/a?b"],
  [DOMAINS, "https://hooks.example.com./"],
  [DOMAINS, "https://a.b.example.org/"],
  [DOMAINS, "https://xn--mnchen-3ya.example/"],
  [{ allowed_ports: [443] }, "https://anywhere.example/"],
  [{ allowed_ports: [80] }, "http://anywhere.example/"],
  [{ allowed_ports: [8443] }, "https://anywhere.example:8443/"],
  [{ max_url_length: 17 }, "https://a.example"],
  [{ disable_loopback: false }, "/custom/webhook"],
])("%j let %s pass", (rules, url) => {
  expect(brokenRule(url, rules)).toBeNull();
});

test.each<[UrlRules, string, string]>([
  [{ require_https: true }, "http://anywhere.example/", "https:// (webhooks.url.require_https"],
  [DOMAINS, "https://example.org/", "leads to example.org; webhooks.url.allowed_domains"],
  [DOMAINS, "https://evilexample.org/", "are hooks.example.com, *.Example.org, münchen.example"],
  [DOMAINS, "https://hooks.example.com.evil.example/", "webhooks.url.allowed_domains"],
  [DOMAINS, "https://a.hooks.example.com/", "webhooks.url.allowed_domains"],
  [{ allowed_ports: [443] }, "http://anywhere.example/", "leads to port 80"],
  [{ allowed_ports: [443, 444] }, "https://a.example:81/", "webhooks.url.allowed_ports"],
  [{ max_url_length: 16 }, "https://a.example", "has 17 characters; webhooks.url.max_url_length"],
  [{ max_url_length: 4 }, "/path", "has 5 characters"],
  [{ disable_loopback: true }, "/custom/webhook", "webhooks.url.disable_loopback"],
])("%j refuse %s", (rules, url, text) => {
  expect(brokenRule(url, rules)).toContain(text);
});
