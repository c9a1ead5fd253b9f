CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`sha256` text NOT NULL,
	`prefix` text NOT NULL,
	`kind` text NOT NULL,
	`user_id` text,
	`organization_id` text NOT NULL,
	`workspace_id` text,
	`role` text,
	`created_at` text NOT NULL,
	`revoked_at` text,
	FOREIGN KEY (`user_id`) REFERENCES `users`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`organization_id`) REFERENCES `organizations`(`id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`workspace_id`) REFERENCES `workspaces`(`id`) ON UPDATE no action ON DELETE no action,
	CONSTRAINT "api_keys_kind" CHECK(("api_keys"."kind" = 'personal' AND "api_keys"."user_id" IS NOT NULL AND "api_keys"."role" IS NULL) OR ("api_keys"."kind" = 'service' AND "api_keys"."user_id" IS NULL AND "api_keys"."role" IS NOT NULL))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_sha256_unique` ON `api_keys` (`sha256`);--> statement-breakpoint
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
CREATE UNIQUE INDEX `workspaces_organization_id_name_unique` ON `workspaces` (`organization_id`,`name`);