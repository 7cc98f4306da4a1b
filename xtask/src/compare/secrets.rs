//! How many planted credentials a program shows to a caller who asks for them, and whether it still finds files that only
//! look as if they held one. All values are drawn when this runs.

use testkit::Random;

use super::peers::Peer;
use super::{Content, Work};

/// Counts of one program; none where it cannot do that.
#[derive(Default)]
pub(super) struct Shown {
    pub by_search: Option<usize>,
    pub by_opening: Option<usize>,
    pub harmless_found: Option<usize>,
}

pub(super) struct Secrets {
    pub planted: usize,
    pub harmless: usize,
    pub sides: Vec<Shown>,
}

/// A file, the question that leads to it, and the text that is looked for in the answers.
struct File {
    path: &'static str,
    question: &'static str,
    content: String,
    value: String,
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const MIXED: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const HEX: &str = "0123456789abcdef";

pub(super) fn measure(peers: &[Box<dyn Peer>], work: &Work) -> Result<Secrets, String> {
    let (planted, harmless) = (planted(), harmless());
    let folder = work.folder.join("secrets-made");
    let _ = std::fs::remove_dir_all(&folder);
    for file in planted.iter().chain(&harmless) {
        let path = folder.join(file.path);
        let parent = path.parent().ok_or("a file has a folder")?;
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, &file.content))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut sides = Vec::new();
    for peer in peers {
        let site = work.site(peer.as_ref(), "secrets", &folder, Content::Everything)?;
        site.index(peer.as_ref())?;
        let mut shown = Shown::default();
        if let Some(mut session) = peer.open(&site)? {
            let (mut leaked, mut found) = (0, 0);
            for file in &planted {
                leaked += usize::from(session.ask(file.question)?.text.contains(&file.value));
            }
            for file in &harmless {
                found += usize::from(session.ask(file.question)?.files.iter().any(|path| path == file.path));
            }
            shown.by_search = Some(leaked);
            shown.harmless_found = Some(found);
        }
        let paths: Vec<String> = planted.iter().map(|file| file.path.to_owned()).collect();
        shown.by_opening = peer.read(&site, &paths)?.map(|texts| {
            texts.iter().zip(&planted).filter(|(text, file)| text.contains(&file.value)).count()
        });
        sides.push(shown);
    }
    println!("asked for the credentials");
    Ok(Secrets { planted: planted.len(), harmless: harmless.len(), sides })
}

fn draw(random: &mut Random, alphabet: &str, length: usize) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    (0..length).map(|_| *random.pick(&letters)).collect()
}

/// Files with one credential each, as repositories and shared folders hold them.
fn planted() -> Vec<File> {
    let mut random = Random::new(20_261_101);
    let mut files = Vec::new();
    let mut plant = |path, question, template: &str, value: String| {
        files.push(File { path, question, content: template.replace("{}", &value), value });
    };
    let mut text = |alphabet: &str, length: usize| draw(&mut random, alphabet, length);
    plant(".env", "stripe live key in the environment", "STRIPE_KEY=sk_live_{}\n", text(MIXED, 24));
    plant(
        "deploy/aws.ini",
        "aws secret access key",
        "[default]\naws_secret_access_key = {}\n",
        text(MIXED, 40),
    );
    plant("deploy/aws-id.txt", "aws access key id", "access key id: AKIA{}\n", text(UPPER, 16));
    plant(
        "config/database.yml",
        "production database password",
        "production:\n  host: db\n  password: {}\n",
        text(MIXED, 14),
    );
    plant(
        "src/main/resources/application.properties",
        "spring datasource password",
        "spring.datasource.password={}\n",
        text(MIXED, 16),
    );
    plant(
        "docker-compose.yml",
        "postgres password of the container",
        "services:\n  db:\n    environment:\n      - POSTGRES_PASSWORD={}\n",
        text(MIXED, 16),
    );
    plant(
        "ci/github.txt",
        "github token of the build",
        "The build uses the token ghp_{} for releases.\n",
        text(MIXED, 36),
    );
    plant(
        "ci/gitlab.yml",
        "gitlab token of the build",
        "variables:\n  GITLAB_TOKEN: glpat-{}\n",
        text(MIXED, 20),
    );
    plant(
        "chat/slack.json",
        "slack bot token",
        "{ \"slack_bot_token\": \"xoxb-123456789012-123456789012-{}\" }\n",
        text(MIXED, 24),
    );
    plant(
        "keys/server.pem",
        "private key of the server",
        "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
        text(MIXED, 64),
    );
    plant(
        "notes/key.md",
        "private key of the old server",
        "# Old server\n\n-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n",
        text(MIXED, 64),
    );
    plant(
        "id_rsa",
        "ssh key",
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n",
        text(MIXED, 64),
    );
    plant(".npmrc", "npm registry token", "//registry.example.org/:_authToken=npm_{}\n", text(MIXED, 36));
    plant(
        ".pypirc",
        "pypi upload password",
        "[pypi]\nusername = __token__\npassword = pypi-{}\n",
        text(MIXED, 60),
    );
    plant(
        ".netrc",
        "netrc password of the mail host",
        "machine mail.example.org login joe password {}\n",
        text(MIXED, 12),
    );
    plant(
        "web/wp-config.php",
        "wordpress database password",
        "<?php\ndefine('DB_PASSWORD', '{}');\n",
        text(MIXED, 18),
    );
    plant("app/settings.py", "django secret key", "SECRET_KEY = '{}'\nDEBUG = False\n", text(MIXED, 50));
    plant("app/client.ts", "api key of the payment client", "export const apiKey = \"{}\";\n", text(HEX, 40));
    plant("terraform/main.tfvars", "terraform admin password", "admin_password = \"{}\"\n", text(MIXED, 20));
    plant(
        "notes/wifi.md",
        "password of the guest network",
        "# Office\n\nThe Wi-Fi password is: {}\n",
        text(MIXED, 12),
    );
    plant(
        "scripts/backup.sh",
        "url with the password for the backup",
        "curl https://backup:{}@backup.example.org/latest\n",
        text(MIXED, 16),
    );
    plant(
        "logs/request.log",
        "bearer token in the request log",
        "GET /v1/items Authorization: Bearer {}\n",
        text(MIXED, 40),
    );
    plant(
        "mail/onboarding.eml",
        "password for the new colleague",
        "From: it@example.org\nTo: new@example.org\nSubject: Welcome\n\nYour first password: {}\n",
        text(MIXED, 12),
    );
    plant(
        "finance/access.csv",
        "login and password of the bank",
        "system,login,password\nbank,joe,{}\n",
        text(LOWER, 14),
    );
    files
}

/// Files without a credential that a hasty rule would hold back.
fn harmless() -> Vec<File> {
    let mut random = Random::new(20_261_102);
    let mut files = Vec::new();
    let mut keep = |path, question, content: String| {
        files.push(File { path, question, content, value: String::new() });
    };
    let hash = draw(&mut random, HEX, 64);
    keep(
        "docs/setup.md",
        "how to set the database password",
        "# Setup\n\nSet the password with `password: <your-password>` and keep it out of the repository.\n"
            .to_owned(),
    );
    keep(
        "config/example.yml",
        "example configuration with a placeholder password",
        "database:\n  password: ${DATABASE_PASSWORD}\n  host: localhost\n".to_owned(),
    );
    keep("checksums.txt", "checksum of the release archive", format!("sha256 {hash}  release.tar.gz\n"));
    keep("src/auth.py", "function that checks a password against its hash", "def check_password(password, hashed):\n    \"\"\"Compare a password with its hash.\"\"\"\n    return bcrypt.verify(password, hashed)\n".to_owned());
    keep("src/tokens.rs", "parse the token of a request", "/// Parses the token of a request.\npub fn parse_token(header: &str) -> Option<Token> {\n    header.strip_prefix(\"Bearer \").map(Token::new)\n}\n".to_owned());
    keep(
        "policy.txt",
        "policy for password length",
        "A password has at least fourteen characters and is never sent by mail.\n".to_owned(),
    );
    keep(
        "keys.md",
        "keyboard shortcuts",
        "# Keyboard shortcuts\n\nCtrl+K opens the search; the secret key combination is Ctrl+Shift+K.\n"
            .to_owned(),
    );
    keep(
        "lock.json",
        "integrity of the lodash package",
        format!("{{ \"name\": \"lodash\", \"integrity\": \"sha512-{hash}\" }}\n"),
    );
    files
}
