import { useMe, useWorkspace } from "../../api/session.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/values.tsx";
import { Invitations, Organizations } from "../../workspace/invitations.tsx";
import { SectionHead } from "./frame/head.tsx";

export function General() {
  const { organization, region, version, session_expires_at, actor } = useMe();
  const { id, name, role } = useWorkspace();
  return (
    <>
      <SectionHead title="General" sub="This workspace, and this session." />
      <Invitations />
      <Panel title="Workspace">
        <dl className="kv in-p">
          <dt>Name</dt>
          <dd className="break-words">{name}</dd>
          <dt>Id</dt>
          <dd className="row">
            <code className="break-all">{id}</code>
            <CopyButton text={id} label="Copy the id of the workspace" />
          </dd>
          <dt>Organization</dt>
          <dd className="break-words">{organization.name}</dd>
          <dt>Plan</dt>
          <dd>{organization.plan}</dd>
          <dt>Region</dt>
          <dd>{region ?? "not bound to one"}</dd>
          <dt>Version</dt>
          <dd>{version}</dd>
          <dt>You</dt>
          <dd className="break-words">
            {actor.name}, {role}
          </dd>
          {session_expires_at !== null && (
            <>
              <dt>Session ends</dt>
              <dd>
                <Time at={session_expires_at} exact />
              </dd>
            </>
          )}
        </dl>
      </Panel>
      <Organizations />
    </>
  );
}
