import { type FormEvent, useState } from "react";
import type { Deployment } from "../../../../control-plane/deployments/schema.ts";
import { useApiChange } from "../../../api/hooks.ts";
import { apiPath } from "../../../api/path.ts";
import { IntegrationFields, integrationOf } from "../../../deployments/integration-fields.tsx";
import { Field } from "../../../ui/form/field.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { ErrorState } from "../../../ui/states.tsx";
import { useToast } from "../../../ui/toasts.tsx";

type Props = { deployment: Deployment; mayWrite: boolean };

/** Edits the source of the revisions. A change of the ref or of the configuration file builds a revision. */
export function BuildSettings({ deployment, mayWrite }: Props) {
  // Only fields that differ from this are sent: another person may change the others at the same time.
  const [before, setBefore] = useState(deployment);
  const { repo_url, integration_id, build_on_push } = before.source_config;
  const toast = useToast();
  const change = useApiChange<object, Deployment>({
    method: "PATCH",
    path: apiPath`/v2/deployments/${deployment.id}`,
    body: (request) => request,
    invalidates: ["/v2/deployments"],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const request = toRequest(before, new FormData(event.currentTarget));
    if (Object.keys(request).length === 0) return toast("Nothing has changed");
    change.mutate(request, {
      onSuccess: (saved) => {
        const isBuilt = "source_revision_config" in request;
        setBefore(saved);
        toast(isBuilt ? "Saved: a new revision builds" : "Saved");
      },
    });
  };
  return (
    <Panel title="Build">
      <form key={before.updated_at} onSubmit={submit}>
        <fieldset className="in-p grid gap-3 border-0 m-0" disabled={!mayWrite}>
          <SourceFields deployment={before} />
          {repo_url !== null && (
            <IntegrationFields integration_id={integration_id} build_on_push={build_on_push} />
          )}
          {change.error && <ErrorState what="The settings were not saved" error={change.error} />}
          {mayWrite && (
            <div className="row">
              <button type="submit" className="btn" disabled={change.isPending}>
                {change.isPending ? "Saving" : "Save"}
              </button>
            </div>
          )}
        </fieldset>
      </form>
    </Panel>
  );
}

function SourceFields({ deployment }: { deployment: Deployment }) {
  const { repo_ref, langgraph_config_path } = deployment.source_revision_config;
  return (
    <div className="grid gap-3 md:grid-cols-2">
      {deployment.source_config.repo_url !== null && (
        <Field
          name="repo_ref"
          label="Branch, tag or commit"
          className="mono"
          defaultValue={repo_ref ?? ""}
          required
        >
          A change builds a revision, which serves once it is built.
        </Field>
      )}
      <Field
        name="path"
        label="Configuration file"
        className="mono"
        defaultValue={langgraph_config_path ?? ""}
        required
      >
        Path inside the source. A change builds a revision, too.
      </Field>
    </div>
  );
}

function toRequest({ source_config, source_revision_config: before }: Deployment, form: FormData) {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  const isRepository = source_config.repo_url !== null;
  const config = {
    ...(isRepository && text("repo_ref") !== before.repo_ref && { repo_ref: text("repo_ref") }),
    ...(text("path") !== before.langgraph_config_path && { langgraph_config_path: text("path") }),
  };
  const integration = integrationOf(form);
  const { integration_id, build_on_push } = source_config;
  const isSame =
    integration.integration_id === integration_id && integration.build_on_push === build_on_push;
  return {
    ...(isRepository && !isSame && { source_config: integration }),
    ...(Object.keys(config).length > 0 && { source_revision_config: config }),
  };
}
