import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import { nameOf } from "../../deployments/revision-name.ts";

type Props = { revision: Revision; revisions: Revision[] };

/**
 * Lists the settings that a revision changed since the one before it, and the names of secrets that changed with it.
 */
export function RevisionChanges({ revision, revisions }: Props) {
  const former = revisions.find(({ number }) => number === revision.number - 1);
  if (former === undefined) return null;
  const changes = FIELDS.flatMap(([name, read]) => {
    const [before, after] = [read(former), read(revision)];
    return before === after || after === null ? [] : [{ name, before, after }];
  });
  const secrets = revision.changed_secrets ?? [];
  if (changes.length === 0 && secrets.length === 0) return null;
  return (
    <dl className="kv sm" aria-label={`Changed since ${nameOf(former)}`}>
      {changes.map(({ name, before, after }) => (
        <div key={name} className="contents">
          <dt>{name}</dt>
          <dd className="mono break-all">
            {before !== null && <span className="dim">{before} → </span>}
            {after}
          </dd>
        </div>
      ))}
      {secrets.length > 0 && (
        <>
          <dt>Secrets</dt>
          <dd className="mono break-all">{secrets.join(", ")}</dd>
        </>
      )}
    </dl>
  );
}

const COMMIT_CHARACTERS = 12;

const FIELDS: [name: string, read: (revision: Revision) => string | null][] = [
  ["Commit", ({ repo_commit_sha }) => repo_commit_sha?.slice(0, COMMIT_CHARACTERS) ?? null],
  ["Ref", ({ source_revision_config }) => source_revision_config.repo_ref],
  ["Configuration", ({ source_revision_config }) => source_revision_config.langgraph_config_path],
  ["Upload", ({ source_revision_config }) => source_revision_config.source_tarball_path],
];
