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
	`key_id` text NOT NULL,
	`ciphertext` text NOT NULL,
	`created_at` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `integrations_id_unique` ON `integrations` (`id`);--> statement-breakpoint
CREATE INDEX `integrations_by_workspace` ON `integrations` (`workspace_id`);--> statement-breakpoint
CREATE TABLE `revisions` (
	`id` text PRIMARY KEY NOT NULL,
	`workspace_id` text NOT NULL,
	`deployment_id` text NOT NULL,
	`number` integer NOT NULL,
	`source` text NOT NULL,
	`source_revision_config` text NOT NULL,
	`status` text NOT NULL,
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
