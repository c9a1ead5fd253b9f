ALTER TABLE `revisions` ADD `is_commit_fetched` integer DEFAULT false NOT NULL;--> statement-breakpoint
-- Builds under way have reported the commit that they fetched.
UPDATE `revisions` SET `is_commit_fetched` = true WHERE `status` = 'BUILDING' AND `repo_commit_sha` IS NOT NULL;
