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
	`created_at` text NOT NULL,
	`updated_at` text NOT NULL,
	FOREIGN KEY (`oauth_provider_id`) REFERENCES `oauth_providers`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `oauth_tokens_by_owner` ON `oauth_tokens` (`workspace_id`,`owner`,`provider_id`);--> statement-breakpoint
CREATE INDEX `oauth_tokens_by_provider` ON `oauth_tokens` (`oauth_provider_id`);