import type { Revision } from "../../../control-plane/deployments/revision-schema.ts";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { nameOf } from "../../deployments/revision-name.ts";
import { isRolledBack } from "../../deployments/revision-role.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Icon } from "../../ui/icon.tsx";

type Props = { deployment: Deployment; revision: Revision };

/** The reason why a newer revision does not serve. */
export function RevisionNotes({ deployment, revision }: Props) {
  const { active_revision: active } = deployment;
  if (active !== null && isRolledBack(deployment, revision)) {
    return (
      <div className="note">
        <Icon name="undo" />
        <div>A rollback replaced this revision: {nameOf(active)}, which is older, serves.</div>
      </div>
    );
  }
  return null;
}

export function PreviewUrl({ url }: { url: string }) {
  return (
    <div className="note run">
      <Icon name="info" />
      <div>
        A preview serves at this URL alone and takes no traffic until you promote it.
        <div className="row">
          <code className="sm cut">{url}</code>
          <CopyButton text={url} label="Copy the URL of the preview" />
        </div>
      </div>
    </div>
  );
}
