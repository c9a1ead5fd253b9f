CREATE TABLE `a2a_tasks` (
	`deployment_id` text NOT NULL,
	`task_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`thread_id` text NOT NULL,
	`run_id` text NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`deployment_id`, `task_id`)
);
--> statement-breakpoint
CREATE INDEX `a2a_tasks_by_creation` ON `a2a_tasks` (`created_at`);--> statement-breakpoint
CREATE TABLE `assistant_versions` (
	`deployment_id` text NOT NULL,
	`assistant_id` text NOT NULL,
	`version` integer NOT NULL,
	`workspace_id` text NOT NULL,
	`graph_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`config` text NOT NULL,
	`context` text NOT NULL,
	`metadata` text NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`deployment_id`, `assistant_id`, `version`)
);
--> statement-breakpoint
CREATE TABLE `assistants` (
	`deployment_id` text NOT NULL,
	`assistant_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`graph_id` text NOT NULL,
	`version` integer NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`config` text NOT NULL,
	`context` text NOT NULL,
	`metadata` text NOT NULL,
	`is_system` integer NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`deleted_at` text,
	`purge_at` text,
	PRIMARY KEY(`deployment_id`, `assistant_id`)
);
--> statement-breakpoint
CREATE INDEX `assistants_by_creation` ON `assistants` (`deployment_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `assistants_by_purge` ON `assistants` (`purge_at`) WHERE purge_at is not null;--> statement-breakpoint
CREATE TABLE `run_webhooks` (
	`run_id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`deployment_id` text NOT NULL,
	`thread_id` text NOT NULL,
	`url` text NOT NULL,
	`user` text,
	`status` text NOT NULL,
	`attempt` integer NOT NULL,
	`attempts_before` integer DEFAULT 0 NOT NULL,
	`attempts` text NOT NULL,
	`due_at` text NOT NULL,
	`lease_expires_at` text,
	`sent_at` text NOT NULL,
	`created_at` text NOT NULL,
	`finished_at` text
);
--> statement-breakpoint
CREATE INDEX `run_webhooks_by_due` ON `run_webhooks` (`status`,`due_at`);--> statement-breakpoint
CREATE INDEX `run_webhooks_by_deployment` ON `run_webhooks` (`deployment_id`);--> statement-breakpoint
CREATE TABLE `webhook_secrets` (
	`workspace_id` text PRIMARY KEY NOT NULL,
	`key_id` text NOT NULL,
	`ciphertext` text NOT NULL,
	`updated_at` text NOT NULL,
	`previous_key_id` text,
	`previous_ciphertext` text,
	`previous_valid_until` text
);
--> statement-breakpoint
CREATE TABLE `build_logs` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`workspace_id` text NOT NULL,
	`revision_id` text NOT NULL,
	`level` text NOT NULL,
	`message` text NOT NULL,
	`timestamp` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `build_logs_by_revision` ON `build_logs` (`revision_id`,`id`);--> statement-breakpoint
CREATE TABLE `deployments` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`display_name` text,
	`slug` text NOT NULL,
	`source` text NOT NULL,
	`source_config` text NOT NULL,
	`source_revision_config` text NOT NULL,
	`status` text NOT NULL,
	`latest_revision_id` text,
	`active_revision_id` text,
	`secrets_version` integer NOT NULL,
	`tracing_project_id` text,
	`traffic` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `deployments_name` ON `deployments` (`workspace_id`,`name`) WHERE status <> 'AWAITING_DELETE';--> statement-breakpoint
CREATE UNIQUE INDEX `deployments_slug` ON `deployments` (`slug`);--> statement-breakpoint
CREATE INDEX `deployments_by_creation` ON `deployments` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `integrations` (
	`installation_id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`api_url` text NOT NULL,
	`app_id` text,
	`app_installation_id` integer,
	`key_id` text NOT NULL,
	`ciphertext` text NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `integrations_id_unique` ON `integrations` (`id`);--> statement-breakpoint
CREATE UNIQUE INDEX `integrations_name` ON `integrations` (`workspace_id`,`name`);--> statement-breakpoint
CREATE TABLE `listeners` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`version` text,
	`compute_type` text NOT NULL,
	`compute_id` text NOT NULL,
	`compute_config` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `listeners_compute` ON `listeners` (`workspace_id`,`compute_id`);--> statement-breakpoint
CREATE TABLE `revisions` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`deployment_id` text NOT NULL,
	`number` integer NOT NULL,
	`source` text NOT NULL,
	`source_revision_config` text NOT NULL,
	`status` text NOT NULL,
	`is_preview` integer DEFAULT false NOT NULL,
	`deleted_at` text,
	`status_reason` text,
	`status_message` text,
	`repo_commit_sha` text,
	`artifact_key` text,
	`artifact_bytes` integer,
	`config` text,
	`config_env` text,
	`graphs` text,
	`descriptors` text,
	`attempt` integer NOT NULL,
	`lost_attempts` integer DEFAULT 0 NOT NULL,
	`lease_expires_at` text,
	`sent_at` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `revisions_number` ON `revisions` (`deployment_id`,`number`);--> statement-breakpoint
CREATE INDEX `revisions_by_status` ON `revisions` (`status`,`sent_at`);--> statement-breakpoint
CREATE TABLE `secrets` (
	`deployment_id` text NOT NULL,
	`name` text NOT NULL,
	`workspace_id` text NOT NULL,
	`key_id` text NOT NULL,
	`ciphertext` text NOT NULL,
	`updated_at` text NOT NULL,
	PRIMARY KEY(`deployment_id`, `name`)
);
--> statement-breakpoint
CREATE TABLE `webhook_deliveries` (
	`integration_id` text NOT NULL,
	`delivery_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`created_at` text NOT NULL,
	PRIMARY KEY(`integration_id`, `delivery_id`)
);
--> statement-breakpoint
CREATE INDEX `webhook_deliveries_by_time` ON `webhook_deliveries` (`created_at`);--> statement-breakpoint
CREATE TABLE `oauth_authorizations` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`oauth_provider_id` text NOT NULL,
	`provider_id` text NOT NULL,
	`owner` text NOT NULL,
	`subject` text NOT NULL,
	`agent_id` text,
	`scopes` text NOT NULL,
	`is_default` integer NOT NULL,
	`state_sha256` text,
	`key_id` text NOT NULL,
	`ciphertext` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`token_id` text NOT NULL,
	`status` text NOT NULL,
	`error` text,
	`created_at` text NOT NULL,
	`expires_at` text NOT NULL,
	FOREIGN KEY (`oauth_provider_id`) REFERENCES `oauth_providers`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_authorizations_state` ON `oauth_authorizations` (`state_sha256`);--> statement-breakpoint
CREATE INDEX `oauth_authorizations_by_expiry` ON `oauth_authorizations` (`expires_at`);--> statement-breakpoint
CREATE INDEX `oauth_authorizations_by_token` ON `oauth_authorizations` (`token_id`);--> statement-breakpoint
CREATE INDEX `oauth_authorizations_by_provider` ON `oauth_authorizations` (`oauth_provider_id`);--> statement-breakpoint
CREATE TABLE `oauth_connections` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`agent_id` text NOT NULL,
	`oauth_token_id` text NOT NULL,
	`created_by` text NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`oauth_token_id`) REFERENCES `oauth_tokens`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_connections_once` ON `oauth_connections` (`agent_id`,`oauth_token_id`);--> statement-breakpoint
CREATE INDEX `oauth_connections_by_token` ON `oauth_connections` (`oauth_token_id`);--> statement-breakpoint
CREATE TABLE `oauth_providers` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`organization_id` text NOT NULL,
	`provider_id` text NOT NULL,
	`name` text NOT NULL,
	`client_id` text NOT NULL,
	`auth_url` text NOT NULL,
	`token_url` text NOT NULL,
	`revocation_url` text,
	`issuer` text,
	`uses_pkce` integer NOT NULL,
	`code_challenge_method` text NOT NULL,
	`provider_type` text,
	`token_endpoint_auth_method` text NOT NULL,
	`mcp_server_url` text,
	`is_dynamic_client` integer NOT NULL,
	`key_id` text NOT NULL,
	`ciphertext` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_providers_name` ON `oauth_providers` (`workspace_id`,`provider_id`);--> statement-breakpoint
CREATE TABLE `oauth_tokens` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`oauth_provider_id` text NOT NULL,
	`provider_id` text NOT NULL,
	`owner` text NOT NULL,
	`subject` text NOT NULL,
	`agent_id` text,
	`provider_account_label` text,
	`scopes` text NOT NULL,
	`requested_scopes` text NOT NULL,
	`expires_at` text,
	`is_default` integer NOT NULL,
	`key_id` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`oauth_provider_id`) REFERENCES `oauth_providers`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `oauth_tokens_by_owner` ON `oauth_tokens` (`workspace_id`,`owner`,`provider_id`);--> statement-breakpoint
CREATE INDEX `oauth_tokens_by_provider` ON `oauth_tokens` (`oauth_provider_id`);--> statement-breakpoint
CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`sha256` text NOT NULL,
	`prefix` text NOT NULL,
	`kind` text NOT NULL,
	`user_id` text,
	`organization_id` text NOT NULL,
	`workspace_id` text,
	`role` text,
	`description` text DEFAULT '' NOT NULL,
	`created_by` text,
	`created_at` text NOT NULL,
	`expires_at` text,
	`last_used_at` text,
	`revoked_at` text,
	`previous_sha256` text,
	`previous_expires_at` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "api_keys_kind" CHECK(("api_keys"."kind" = 'personal' AND "api_keys"."user_id" IS NOT NULL AND "api_keys"."role" IS NULL) OR ("api_keys"."kind" = 'service' AND "api_keys"."user_id" IS NULL AND "api_keys"."role" IS NOT NULL))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_sha256_unique` ON `api_keys` (`sha256`);--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_previous_sha256_unique` ON `api_keys` (`previous_sha256`);--> statement-breakpoint
CREATE INDEX `api_keys_by_workspace` ON `api_keys` (`workspace_id`);--> statement-breakpoint
CREATE INDEX `api_keys_by_organization` ON `api_keys` (`organization_id`);--> statement-breakpoint
CREATE INDEX `api_keys_by_user` ON `api_keys` (`user_id`);--> statement-breakpoint
CREATE TABLE `audit_logs` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`created_at` text NOT NULL,
	`request_id` text NOT NULL,
	`action` text NOT NULL,
	`actor_type` text NOT NULL,
	`actor_id` text NOT NULL,
	`user_id` text,
	`resources` text NOT NULL,
	`status` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `audit_logs_by_workspace` ON `audit_logs` (`workspace_id`,`id`);--> statement-breakpoint
CREATE TABLE `memberships` (
	`user_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`role` text NOT NULL,
	PRIMARY KEY(`user_id`, `workspace_id`),
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE TABLE `organizations` (
	`id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`plan` text NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `organizations_name_unique` ON `organizations` (`name`);--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`email` text NOT NULL,
	`oidc_subject` text,
	`organization_role` text DEFAULT 'user' NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_email_organization_id_unique` ON `users` (`email`,`organization_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `users_oidc_subject_organization_id_unique` ON `users` (`oidc_subject`,`organization_id`);--> statement-breakpoint
CREATE TABLE `workspaces` (
	`id` text PRIMARY KEY NOT NULL,
	`organization_id` text NOT NULL,
	`name` text NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `workspaces_organization_id_name_unique` ON `workspaces` (`organization_id`,`name`);--> statement-breakpoint
CREATE TABLE `bulk_export_destinations` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`destination_type` text NOT NULL,
	`display_name` text NOT NULL,
	`config` text NOT NULL,
	`addressing_style` text NOT NULL,
	`credentials_keys` text NOT NULL,
	`key_id` text NOT NULL,
	`ciphertext` text NOT NULL,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `bulk_export_destinations_by_workspace` ON `bulk_export_destinations` (`workspace_id`,`id`);--> statement-breakpoint
CREATE TABLE `bulk_export_files` (
	`id` text PRIMARY KEY NOT NULL,
	`bulk_export_id` text NOT NULL,
	`run_id` text,
	`workspace_id` text NOT NULL,
	`number` integer NOT NULL,
	`key` text NOT NULL,
	`chunk` text NOT NULL,
	`rows_planned` integer NOT NULL,
	`status` text NOT NULL,
	`token` integer NOT NULL,
	`retry_number` integer NOT NULL,
	`retry_limit` integer NOT NULL,
	`errors` text,
	`sent_at` text,
	`lease_expires_at` text,
	`next_attempt_at` text,
	`upload_id` text,
	`rows_written` integer NOT NULL,
	`bytes_written` integer NOT NULL,
	`sha256` text,
	`etag` text,
	`min_start_us` integer,
	`max_start_us` integer,
	`started_at` text,
	`updated_at` text NOT NULL,
	`finished_at` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_export_files_key` ON `bulk_export_files` (`bulk_export_id`,`key`);--> statement-breakpoint
CREATE INDEX `bulk_export_files_by_status` ON `bulk_export_files` (`bulk_export_id`,`status`,`number`);--> statement-breakpoint
CREATE INDEX `bulk_export_files_by_run` ON `bulk_export_files` (`run_id`);--> statement-breakpoint
CREATE INDEX `bulk_export_files_open` ON `bulk_export_files` (`status`,`sent_at`) WHERE status in ('WAITING', 'RUNNING');--> statement-breakpoint
CREATE TABLE `bulk_export_runs` (
	`id` text PRIMARY KEY NOT NULL,
	`bulk_export_id` text NOT NULL,
	`workspace_id` text NOT NULL,
	`start_us` integer NOT NULL,
	`end_us` integer NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_export_runs_day` ON `bulk_export_runs` (`bulk_export_id`,`start_us`);--> statement-breakpoint
CREATE TABLE `bulk_exports` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`bulk_export_destination_id` text NOT NULL,
	`session_id` text NOT NULL,
	`key_base` text NOT NULL,
	`start_us` integer NOT NULL,
	`end_us` integer,
	`interval_hours` integer,
	`filter` text,
	`export_fields` text,
	`format_version` text NOT NULL,
	`compression` text NOT NULL,
	`late_rows` integer NOT NULL,
	`status` text NOT NULL,
	`error` text,
	`source_bulk_export_id` text,
	`window_index` integer,
	`next_window_index` integer,
	`next_window_at` text,
	`idempotency_key` text,
	`request_sha256` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`started_at` text,
	`planned_at` text,
	`finished_at` text,
	`watermarks` text,
	`sent_at` text,
	`next_attempt_at` text,
	`cleaned_at` text
);
--> statement-breakpoint
CREATE INDEX `bulk_exports_by_creation` ON `bulk_exports` (`workspace_id`,`created_at`);--> statement-breakpoint
CREATE INDEX `bulk_exports_by_status` ON `bulk_exports` (`status`,`workspace_id`);--> statement-breakpoint
CREATE INDEX `bulk_exports_by_destination` ON `bulk_exports` (`bulk_export_destination_id`);--> statement-breakpoint
CREATE INDEX `bulk_exports_unclean` ON `bulk_exports` (`finished_at`) WHERE cleaned_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_exports_window` ON `bulk_exports` (`source_bulk_export_id`,`window_index`);--> statement-breakpoint
CREATE UNIQUE INDEX `bulk_exports_idempotency` ON `bulk_exports` (`workspace_id`,`idempotency_key`);--> statement-breakpoint
CREATE TABLE `partitions` (
	`project_id` text NOT NULL,
	`day` text NOT NULL,
	`slot` integer NOT NULL,
	`workspace_id` text NOT NULL,
	`rows` integer NOT NULL,
	`bytes` integer NOT NULL,
	`seq` integer NOT NULL,
	`min_start_us` integer,
	`max_start_us` integer,
	`roots` integer NOT NULL,
	`stats` text,
	`stats_seq` integer,
	`updated_at` text NOT NULL,
	PRIMARY KEY(`project_id`, `day`, `slot`)
);
--> statement-breakpoint
CREATE INDEX `partitions_by_day` ON `partitions` (`workspace_id`,`day`);--> statement-breakpoint
CREATE TABLE `projects` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`extra` text,
	`start_time` text NOT NULL,
	`end_time` text,
	`default_dataset_id` text,
	`reference_dataset_id` text,
	`trace_tier` text,
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	`deleted_at` text,
	`sent_at` text
);
--> statement-breakpoint
CREATE UNIQUE INDEX `projects_name` ON `projects` (`workspace_id`,`name`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `projects_by_start` ON `projects` (`workspace_id`,`start_time`);--> statement-breakpoint
CREATE INDEX `projects_deleted` ON `projects` (`sent_at`) WHERE deleted_at is not null;