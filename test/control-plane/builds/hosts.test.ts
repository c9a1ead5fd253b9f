import { expect, test } from "vitest";
import {
  archivesOf,
  cloneUrls,
  commitUrl,
  isKnownHost,
  toRepository,
} from "../../../src/control-plane/builds/source/hosts.ts";

test.each([
  ["https://github.com/acme/chat", "https://api.github.com/repos/acme/chat/tarball/feature/x"],
  ["https://github.com/acme/chat.git", "https://api.github.com/repos/acme/chat/tarball/feature/x"],
  ["git@github.com:acme/chat.git", "https://api.github.com/repos/acme/chat/tarball/feature/x"],
  [
    "https://gitlab.com/acme/team/chat",
    "https://gitlab.com/api/v4/projects/acme%2Fteam%2Fchat/repository/archive.tar.gz?sha=feature%2Fx",
  ],
  [
    "https://codeberg.org/acme/chat/",
    "https://codeberg.org/api/v1/repos/acme/chat/archive/feature/x.tar.gz",
  ],
  ["https://bitbucket.org/acme/chat", "https://bitbucket.org/acme/chat/get/feature/x.tar.gz"],
])("the archive of %s", (url, archive) => {
  expect(archivesOf(toRepository(url), "feature/x", null)).toMatchObject([{ url: archive }]);
});

test.each([
  ["github", "https://api.github.com/repos/acme/chat/commits/abc"],
  ["gitea", "https://git.test/api/v1/repos/acme/chat/git/commits/abc"],
  ["gitlab", "https://git.test/api/v4/projects/acme%2Fchat/repository/commits/abc"],
  ["bitbucket", "https://api.bitbucket.org/2.0/repositories/acme/chat/commit/abc"],
] as const)("a commit at %s", (kind, url) => {
  expect(commitUrl(kind, toRepository("https://git.test/acme/chat"), "abc")).toBe(url);
});

test("an unknown host is tried in every form", () => {
  const repository = toRepository("https://git.acme.test:8443/acme/chat.git");
  expect(archivesOf(repository, "refs/tags/v1", "secret")).toEqual([
    {
      kind: "loopback",
      url: "https://git.acme.test:8443/repos/acme/chat/tarball/refs/tags/v1",
      headers: { "user-agent": "heddle", authorization: "Bearer secret" },
    },
    {
      kind: "github_enterprise",
      url: "https://git.acme.test:8443/api/v3/repos/acme/chat/tarball/refs/tags/v1",
      headers: { "user-agent": "heddle", authorization: "Bearer secret" },
    },
    {
      kind: "gitea",
      url: "https://git.acme.test:8443/api/v1/repos/acme/chat/archive/v1.tar.gz",
      headers: { "user-agent": "heddle", authorization: "token secret" },
    },
    {
      kind: "gitlab",
      url: "https://git.acme.test:8443/api/v4/projects/acme%2Fchat/repository/archive.tar.gz?sha=refs%2Ftags%2Fv1",
      headers: { "user-agent": "heddle", authorization: "Bearer secret" },
    },
  ]);
  const url = "https://git.acme.test:8443/acme/chat";
  expect(cloneUrls(repository)).toEqual([`${url}.git`, url]);
});

test.each(["acme/chat", "https://github.com/acme", "https://github.com/", "not a url"])(
  "%j is not a repository",
  (url) => {
    expect(() => toRepository(url)).toThrow(/is not a repository URL/);
  },
);

test.each(["https://git.test/acme/%zz", "https://git.test/%e0%a4/chat", "https://git.test/acme"])(
  "%s is refused as a repository",
  (url) => {
    expect(() => toRepository(url)).toThrow(/is not a repository URL/);
  },
);

test("a host by the name of an object's own property is like any other", () => {
  const repository = toRepository("http://constructor/acme/chat");
  expect(isKnownHost(repository)).toBe(false);
  expect(archivesOf(repository, "main", null)[0]?.url).toContain("http://constructor/repos/");
});
