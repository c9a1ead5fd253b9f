/** Types of JSON columns. Fields that were not given are absent, so that a PATCH is a merge. */

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
