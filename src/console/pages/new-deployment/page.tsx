import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import type { Deployment } from "../../../control-plane/deployments/schema.ts";
import { useApiChange, useWorkspaceId } from "../../api/hooks.ts";
import { apiPath } from "../../api/path.ts";
import { useMay, useMe } from "../../api/session.ts";
import { CommandLine } from "../../deployments/command-line.tsx";
import { DeployExample, EXAMPLE_NOTE } from "../../deployments/deploy-example.tsx";
import { IntegrationFields, integrationOf } from "../../deployments/integration-fields.tsx";
import { TopBar } from "../../shell/top-bar.tsx";
import { pathTo } from "../../state/path.ts";
import { Field } from "../../ui/form/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Empty, PageHeader, Panel } from "../../ui/panel.tsx";
import { ErrorState } from "../../ui/states.tsx";
import { emptySecret, type SecretRow, SecretRows } from "./secret-rows.tsx";

const ABOVE = [{ label: "Deployments", path: "/deployments" }];

export function NewDeploymentPage() {
  const mayWrite = useMay("write");
  return (
    <>
      <TopBar above={ABOVE} title="New deployment" />
      <PageHeader title="New deployment" sub="An agent from a git repository, or from a folder." />
      {mayWrite ? (
        <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_384px] items-start">
          <RepositoryForm />
          <div className="stack">
            <FromExample />
            <CommandLine />
          </div>
        </div>
      ) : (
        <Empty title="Your role reads only">Editors and admins create deployments.</Empty>
      )}
    </>
  );
}

/** Draws nothing when the service has no examples. */
function FromExample() {
  const { examples_url } = useMe();
  if (examples_url === null) return null;
  return (
    <Panel title="From the example">
      <div className="in-p grid gap-3">
        <p className="dim">{EXAMPLE_NOTE}</p>
        <div>
          <DeployExample examples_url={examples_url} isMain={false} />
        </div>
      </div>
    </Panel>
  );
}

function RepositoryForm() {
  const [secrets, setSecrets] = useState<SecretRow[]>([emptySecret()]);
  const navigate = useNavigate();
  const workspace = useWorkspaceId();
  const create = useApiChange<object, Deployment>({
    path: apiPath`/v2/deployments`,
    body: (input) => input,
    invalidates: ["/v2/deployments"],
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const input = toRequest(new FormData(event.currentTarget), secrets);
    create.mutate(input, {
      onSuccess: ({ id }) => void navigate({ to: pathTo(workspace, `/deployments/${id}`) }),
    });
  };
  return (
    <form className="panel" onSubmit={submit}>
      <header>
        <h2>From a repository</h2>
      </header>
      <div className="in-p grid gap-4">
        <RepositoryFields />
        <SecretRows rows={secrets} onChange={setSecrets} />
        <IntegrationFields integration_id={null} build_on_push={false} />
        {create.error && (
          <ErrorState
            what="The deployment was not created"
            error={create.error}
            intact="What you typed is still here."
          />
        )}
      </div>
      <footer>
        <button type="submit" className="btn pri push" disabled={create.isPending}>
          <Icon name="plus" /> {create.isPending ? "Creating" : "Create and build"}
        </button>
      </footer>
    </form>
  );
}

function RepositoryFields() {
  const [url, setUrl] = useState("");
  const [name, setName] = useState<string | null>(null);
  return (
    <>
      <Field
        name="repo_url"
        label="Repository URL"
        type="url"
        required
        placeholder="https://github.com/acme/support-agent"
        value={url}
        onChange={(event) => setUrl(event.target.value)}
      >
        Any git host that answers over HTTPS.
      </Field>
      <div className="grid gap-4 md:grid-cols-2">
        <Field
          name="name"
          label="Name"
          required
          pattern="[a-z0-9\-]{1,63}"
          placeholder="support-agent"
          value={name ?? nameOfRepository(url)}
          onChange={(event) => setName(event.target.value)}
        >
          1 to 63 characters of a-z, 0-9 and -. Part of the URL.
        </Field>
        <Field name="repo_ref" label="Branch, tag or commit" defaultValue="main">
          A tag is refs/tags/NAME.
        </Field>
      </div>
      <Field name="path" label="Configuration file" defaultValue="langgraph.json">
        Path inside the repository.
      </Field>
    </>
  );
}

/** Returns the last part of the URL of a repository as a valid name of a deployment. */
function nameOfRepository(url: string): string {
  const path = url.trim().split("/").slice(3).filter(Boolean);
  const name = (path.at(-1) ?? "").replace(/\.git$/, "").toLowerCase();
  return name.replace(/[^a-z0-9-]+/g, "-").slice(0, 63);
}

function toRequest(form: FormData, secrets: SecretRow[]) {
  const text = (name: string) => String(form.get(name) ?? "").trim();
  return {
    name: text("name"),
    source: "github",
    source_config: {
      repo_url: text("repo_url"),
      deployment_type: "dev",
      ...integrationOf(form),
    },
    source_revision_config: {
      repo_ref: text("repo_ref") || null,
      langgraph_config_path: text("path") || "langgraph.json",
    },
    secrets: secrets
      .filter(({ name }) => name.trim() !== "")
      .map(({ name, value }) => ({ name: name.trim(), value })),
  };
}
