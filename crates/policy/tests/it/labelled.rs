//! Lines with and without credentials, in the notations of many kinds of files. The values are drawn when the tests run, so
//! no line of this repository looks like a leak.

/// A line, the file it would stand in, and whether it holds a credential.
pub(crate) struct Line {
    pub(crate) path: &'static str,
    pub(crate) text: String,
    pub(crate) class: &'static str,
}

/// Draws values from a seed.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Draw {
        Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % most
    }

    fn of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    fn text(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        (0..length).map(|_| char::from(letters[self.below(letters.len())])).collect()
    }

    fn number(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from + 1)
    }
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const HEX: &str = "0123456789abcdef";
const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const LOWER_NUM: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const UPPER_NUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64_URL: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const RICH: &str = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789!#*+-=?@_.";

const WORDS: [&str; 40] = [
    "summer", "winter", "dragon", "monkey", "shadow", "master", "sunshine", "princess", "football",
    "charlie", "ninja", "mustang", "jordan", "harley", "ranger", "hunter", "buster", "soccer", "hockey",
    "killer", "george", "andrew", "silver", "purple", "orange", "banana", "cookie", "pepper", "ginger",
    "matrix", "falcon", "phoenix", "thunder", "yankees", "merlin", "diamond", "hammer", "tigger", "corvette",
    "berlin",
];

/// A password as people and their programs make them.
fn password(draw: &mut Draw) -> String {
    let word = |draw: &mut Draw| draw.of(&WORDS).to_owned();
    let capital = |word: String| word[..1].to_uppercase() + &word[1..];
    match draw.below(20) {
        0..=5 => {
            let length = draw.number(8, 16);
            draw.text(ALNUM, length)
        }
        6..=9 => {
            let length = draw.number(8, 14);
            draw.text(RICH, length)
        }
        10..=12 => {
            let length = draw.number(8, 12);
            draw.text(LOWER_NUM, length)
        }
        13..=15 => {
            let (word, year, sign) = (
                capital(word(draw)),
                draw.number(1980, 2025),
                draw.of(&["!", "#", "?", "$$", "*"]).to_owned(),
            );
            format!("{word}{year}{sign}")
        }
        16 | 17 => format!("{}{}", word(draw), draw.number(10, 9999)),
        18 => {
            let length = draw.number(8, 12);
            draw.text(LOWER, length)
        }
        _ => format!("{}-{}-{}-{}", word(draw), word(draw), word(draw), draw.number(10, 99)),
    }
}

/// A key as services make them.
fn secret(draw: &mut Draw) -> String {
    let length = draw.of(&[&20usize, &24, &32, &32, &40, &43, &64]);
    match draw.below(4) {
        0 => draw.text(HEX, (*length).max(32)),
        1 => draw.text(BASE64_URL, *length),
        2 => draw.text(LOWER_NUM, *length),
        _ => draw.text(ALNUM, *length),
    }
}

type Make = fn(&mut Draw) -> String;

/// Notations with a place for a value, `{}`, and for a name of a host or a user, `@`.
const PASSWORDS: &[(&str, &str)] = &[
    ("config/database.yml", "  password: {}"),
    ("config/database.yml", "    password: \"{}\""),
    ("deploy/values.yaml", "smtpPassword: {}"),
    ("deploy/group_vars/all.yml", "db_admin_password: '{}'"),
    ("docker-compose.yml", "      - POSTGRES_PASSWORD={}"),
    ("docker-compose.yml", "      MYSQL_ROOT_PASSWORD: {}"),
    ("src/main/resources/application.properties", "spring.datasource.password={}"),
    ("conf/ldap.properties", "ldap.bind.passwd = {}"),
    ("etc/app.ini", "password = {}"),
    ("etc/smtp.cfg", "smtp_pass={}"),
    ("etc/my.conf", "pwd={}"),
    ("config/settings.toml", "password = \"{}\""),
    ("appsettings.json", "    \"Password\": \"{}\","),
    (
        "web.config",
        "<add name=\"Main\" connectionString=\"Server=db1;Database=shop;User Id=sa;Password={};\" />",
    ),
    ("server.xml", "  <password>{}</password>"),
    ("tomcat-users.xml", "<user username=\"deploy\" password=\"{}\" roles=\"manager\"/>"),
    ("wp-config.php", "define('DB_PASSWORD', '{}');"),
    ("src/db.py", "connect(host='db1', user='app', password='{}')"),
    ("src/mailer.js", "const transport = { user: 'mailer', pass: '{}' };"),
    ("src/Main.java", "    private static final String PASSWORD = \"{}\";"),
    ("src/store.go", "\tdbPassword := \"{}\""),
    ("lib/ftp.rb", "  ftp_password = '{}'"),
    ("src/Ldap.cs", "var bindPassword = \"{}\";"),
    ("scripts/backup.sh", "export PGPASSWORD={}"),
    ("scripts/mount.sh", "DB_PASS=\"{}\""),
    ("terraform/prod.tfvars", "admin_password = \"{}\""),
    ("notes/servers.txt", "Password: {}"),
    ("runbook.md", "DB password: {}"),
];

const SECRETS: &[(&str, &str)] = &[
    ("config/app.yml", "  secret_key_base: {}"),
    ("config/app.yml", "client_secret: \"{}\""),
    ("etc/app.ini", "secret_key = {}"),
    ("app.properties", "oauth.client.secret={}"),
    ("settings.py", "SECRET_KEY = '{}'"),
    ("src/api.py", "api_key = \"{}\""),
    ("src/client.ts", "  apiKey: '{}',"),
    ("src/Client.java", "private String apiSecret = \"{}\";"),
    ("src/client.go", "const accessKey = \"{}\""),
    ("appsettings.json", "  \"ClientSecret\": \"{}\""),
    ("scripts/deploy.sh", "export API_KEY={}"),
    ("terraform/prod.tfvars", "private_key = \"{}\""),
    ("src/session.php", "$secret = '{}';"),
    ("src/crypto.rb", "encryption_key = \"{}\""),
];

const TOKENS: &[(&str, &str)] = &[
    ("config/app.yml", "  token: {}"),
    ("src/bot.py", "token = \"{}\""),
    ("src/bot.js", "const authToken = '{}';"),
    ("scripts/release.sh", "curl -H \"Authorization: Bearer {}\" https://api.host.org"),
    ("app.json", "\"access_token\": \"{}\""),
    (".npmrc", "//registry.npmjs.org/:_authToken={}"),
    ("src/client.rb", "  refresh_token: '{}'"),
];

const URLS: &[(&str, &str)] = &[
    ("config/app.yml", "url: postgres://app:{}@db1.shop.io:5432/main"),
    (".travis.yml", "  - git clone https://deploy:{}@git.shop.io/team/app.git"),
    ("src/queue.py", "BROKER_URL = 'amqp://worker:{}@mq.shop.io//'"),
    ("src/cache.js", "const url = 'redis://:{}@cache.shop.io:6379/0';"),
    ("app.properties", "mongo.uri=mongodb://svc:{}@ds0.shop.io:4560/prod"),
    ("docker-compose.yml", "      DATABASE_URL: mysql://root:{}@db/main"),
    ("notes.txt", "ftp://upload:{}@ftp.shop.io/in"),
];

/// Keys whose form says what they are: a beginning in two pieces, an alphabet and a length.
const KEYS: &[(&str, &str, &str, usize)] = &[
    ("AK", "IA", UPPER_NUM, 16),
    ("gh", "p_", ALNUM, 36),
    ("gl", "pat-", BASE64_URL, 20),
    ("AI", "za", BASE64_URL, 35),
    ("sk_", "live_", ALNUM, 24),
    ("np", "m_", ALNUM, 36),
    ("hf", "_", ALNUM, 34),
    ("sk-", "ant-api03-", BASE64_URL, 95),
    ("dop_", "v1_", HEX, 64),
    ("shp", "at_", HEX, 32),
    ("SK", "", HEX, 32),
    ("hvs", ".", BASE64_URL, 90),
];

/// At least 900 lines with a credential.
pub(crate) fn positive() -> Vec<Line> {
    let mut draw = Draw::new(1);
    let mut lines = Vec::new();
    let mut fill = |class: &'static str, forms: &[(&'static str, &'static str)], times: usize, make: Make| {
        for _ in 0..times {
            for &(path, form) in forms {
                lines.push(Line { path, text: form.replace("{}", &make(&mut draw)), class });
            }
        }
    };
    fill("password", PASSWORDS, 14, password);
    fill("secret or key by its name", SECRETS, 12, secret);
    fill("token", TOKENS, 12, |draw| draw.text(BASE64_URL, 40));
    fill("password in a URL", URLS, 12, |draw| password(draw).replace(['#', '?', '@', '!', '$'], "x"));
    fill(
        "JSON web token",
        &[("logs/http.log", "Authorization: Bearer {}"), ("src/a.js", "const token = '{}'")],
        10,
        |draw| {
            let part = |draw: &mut Draw, length| draw.text(BASE64_URL, length);
            format!(
                "{}{}.{}{}.{}",
                ["ey", "J"].concat(),
                part(draw, 33),
                ["ey", "J"].concat(),
                part(draw, 80),
                part(draw, 43)
            )
        },
    );
    fill("JSON web key", &[("keys/signing.json", "{}"), ("conf/jwks.json", "{\"keys\":[{}]}")], 10, |draw| {
        format!(
            "{{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"{}\",\"d\":\"{}\"}}",
            draw.text(BASE64_URL, 43),
            draw.text(BASE64_URL, 43)
        )
    });
    fill("private key", &[("deploy/key.txt", "{}"), ("src/keys.py", "KEY = \"\"\"{}\"\"\"")], 10, |draw| {
        let kind = draw.of(&["", "RSA ", "EC ", "OPENSSH "]).to_owned();
        let body: Vec<String> = (0..6).map(|_| draw.text(BASE64, 64)).collect();
        let mark = |word: &str| ["-----", word, " ", &kind, "PRIVATE", " KEY", "-----"].concat();
        format!("{}\n{}\n{}", mark("BEGIN"), body.join("\n"), mark("END"))
    });
    for _ in 0..8 {
        for &(first, second, alphabet, length) in KEYS {
            let value = format!("{first}{second}{}", draw.text(alphabet, length));
            let (path, form) = draw.of(&[
                &("src/a.py", "KEY = '{}'"),
                &("conf/a.yml", "key: {}"),
                &("notes.txt", "the key is {} now"),
            ]);
            lines.push(Line { path, text: form.replace("{}", &value), class: "key by its form" });
        }
    }
    lines
}

/// What stands in the place of a value where there is none.
#[rustfmt::skip]
const STAND_INS: [&str; 44] = [
    "password", "changeme", "secret", "your-password", "<password>", "${DB_PASSWORD}", "{{ vault_password }}", "xxxxxxxx",
    "********", "test", "test123", "admin", "example", "None", "null", "string", "\"\"", "PASSWORD", "my_password", "123456",
    "foobar", "dummy", "placeholder", "TODO", "required", "%(password)s", "$(cat /run/secrets/db)", "!vault", "REDACTED",
    "fake-password", "replace-me", "topsecret", "s3cret", "p4ssw0rd", "letmein", "user", "root", "postgres", "%s", "@SECRET@",
    "insert-your-key-here", "abcdefgh", "11111111", "sample-value",
];

/// Lines of programs, manuals, logs and lists without any credential.
#[rustfmt::skip]
const HARMLESS: &[(&str, &str)] = &[
    ("src/auth.py", "password = request.form['password']"), ("src/auth.py", "if password != confirm_password_{N}:"),
    ("src/auth.py", "token = self.tokens.get(user_id_{N})"), ("src/auth.ts", "password: string; // field {N}"),
    ("src/Auth.java", "String password = config.getPassword({N});"), ("src/auth.go", "token := r.Header.Get(\"X-Token-{N}\")"),
    ("src/a.rb", "password_digest: user.password_digest_v{N}"), ("src/a.php", "$password = $_POST['password{N}'];"),
    ("docs/install.md", "Set `password: {W}{N}` in your configuration."), ("README.md", "export API_KEY={W}-{N}-{W}"),
    ("docs/setup.rst", "    SECRET_KEY = '{H64}'"), ("docs/api.md", "    curl -u jo:{A10} https://api.host.org"),
    ("CHANGELOG.md", "- Fix the password reset token expiry (#{N})"), ("package-lock.json", "\"integrity\": \"sha512-{B86}==\","),
    ("Cargo.lock", "checksum = \"{H64}\""), ("poetry.lock", "    {file = \"a-{N}.whl\", hash = \"sha256:{H64}\"},"),
    ("src/hash.py", "EXPECTED_SHA256 = '{H64}'"), ("a.sql", "INSERT INTO users VALUES ({N}, 'jo', '$2b$12${B53}');"),
    ("src/id.ts", "const requestId = '{U}';"), ("app.yml", "tenant_id: {U}"), ("app.yml", "password_file: /run/secrets/db_{N}"),
    ("app.yml", "password_min_length: {N}"), ("app.yml", "passwordPolicy: strong-{N}"), ("log.txt", "{N} password resets today"),
    ("po/de.po", "msgid \"Enter the same password as before ({N}).\""), ("src/x.py", "next_token = 'page-{H32}'"),
    ("src/x.tsx", "<input type=\"password\" name=\"password{N}\" />"), ("style.css", ".password-field-{N} { color: #{H6}; }"),
    ("a.py", "url = 'https://user:password@host.example/{N}'"), ("a.yml", "url: postgres://postgres:postgres@localhost/{N}"),
    ("a.py", "DATABASE_URL = f\"postgres://{user}:{password}@{host}/{N}\""), ("a.svg", "<path d=\"M{N} 1.5c{N}.25 3\"/>"),
    ("data.json", "\"commit\": \"{H40}\""), ("go.sum", "github.com/x/y v1.{N}.0 h1:{B43}="), ("a.md", "![x](data:image/png;base64,{B86})"),
    ("k8s.yml", "secretName: app-secret-{N}"), ("k8s.yml", "secretKeyRef: {name: db, key: password{N}}"),
    ("a.tf", "password = var.db_password_{N}"), ("a.tf", "token = data.vault.token_{N}"), ("a.sh", "read -s PASSWORD_{N}"),
    ("a.sh", "export TOKEN=$(vault read -field=token secret/{N})"), ("a.sh", "mysql -p$MYSQL_PASSWORD -h db{N}"),
    ("src/lex.rs", "let token = lexer.next_token_{N}();"), ("src/lex.c", "token_type = TOKEN_IDENTIFIER_{N};"),
    ("tests/test_login.py", "client.login(username='jo', password='{W}')"), ("tests/test_login.py", "password = 'testpass{N}'"),
    ("tests/api.spec.ts", "const token = 'test-token-{N}-{W}';"), ("spec/login_spec.rb", "fill_in 'Password', with: '{W}{N}'"),
];

/// At least 900 lines without one.
pub(crate) fn negative() -> Vec<Line> {
    let mut draw = Draw::new(2);
    let mut lines = Vec::new();
    for &(path, form) in PASSWORDS.iter().chain(SECRETS) {
        for _ in 0..10 {
            let value = draw.of(&STAND_INS);
            lines.push(Line { path, text: form.replace("{}", value), class: "stand-in" });
        }
    }
    for _ in 0..12 {
        for &(path, form) in HARMLESS {
            let mut text = form.to_owned();
            for (mark, alphabet, length) in [
                ("{H64}", HEX, 64),
                ("{H40}", HEX, 40),
                ("{H32}", HEX, 32),
                ("{H6}", HEX, 6),
                ("{B86}", BASE64, 86),
                ("{B53}", ALNUM, 53),
                ("{B43}", BASE64, 43),
                ("{A10}", ALNUM, 10),
                ("{N}", "123456789", 3),
            ] {
                while text.contains(mark) {
                    text = text.replacen(mark, &draw.text(alphabet, length), 1);
                }
            }
            while text.contains("{W}") {
                text = text.replacen("{W}", draw.of(&WORDS), 1);
            }
            if text.contains("{U}") {
                let uuid = [8, 4, 4, 4, 12].map(|length| draw.text(HEX, length)).join("-");
                text = text.replace("{U}", &uuid);
            }
            lines.push(Line { path, text, class: "harmless" });
        }
    }
    lines
}
