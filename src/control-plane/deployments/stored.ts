/** Columns that hold JSON. What was not given is not there, so that a patch is a merge. */

export type StoredSourceConfig = {
  integration_id?: string;
  repo_url?: string;
  deployment_type?: string;
  build_on_push?: boolean;
  resource_spec?: Record<string, unknown>;
  install_command?: string;
  build_command?: string;
};

export type StoredRevisionConfig = {
  repo_ref?: string;
  langgraph_config_path?: string;
  source_tarball_path?: string;
};
