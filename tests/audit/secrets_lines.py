"""Lines and files that hold a secret: settings, commands, headers, addresses, key files."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.audit.secrets_formats import fill


def pem(begin: str, lines: int, width: int = 64) -> Callable[[random.Random], str]:
    """Return a key in lines of base64, with its first and last line."""

    def make(rng: random.Random) -> str:
        body = "\n".join(fill(rng, f"<B{width}>") for _ in range(lines))
        return f"-----BEGIN {begin}-----\n{body}\n{fill(rng, '<B22>')}==\n-----END {begin}-----"

    return make


# Lines that hold a password in the place of {}.
LINES = {
    "HTTP basic credentials": (
        "<basic>",
        "Authorization: Basic {}",
        "curl -H 'Authorization: Basic {}' https://api.example.org",
    ),
    "HTTP bearer token": (
        "<t48>",
        "Authorization: Bearer {}",
        '{{"headers": {{"Authorization": "Bearer {}"}}}}',
    ),
    "HTTP key header": ("<w32>", "X-API-Key: {}", "curl -H 'x-api-key: {}' https://api.example.org/v1"),
    "session cookie": (
        "<w32>",
        "Cookie: theme=dark; sessionid={}; lang=en",
        "Set-Cookie: sessionid={}; HttpOnly; Path=/",
    ),
    "token in a query": (
        "<w40>",
        "GET /v1/items?access_token={}&page=2 HTTP/1.1",
        "https://api.example.org/x?api_key={}",
    ),
    "PostgreSQL URL": (
        "<w8-20>",
        "postgresql://app:{}@db.internal:5432/app",
        "DATABASE_URL=postgres://app:{}@10.0.0.5/app",
    ),
    "MySQL URL": (
        "<w8-20>",
        "mysql+pymysql://root:{}@mysql:3306/shop",
        "connecting to mysql://root:{}@mysql/shop failed",
    ),
    "MongoDB URL": (
        "<w8-20>",
        "mongodb+srv://admin:{}@cluster0.ab1cd.mongodb.net/test",
        "uri: mongodb://admin:{}@mongo:27017",
    ),
    "Redis URL": ("<w8-20>", "redis://:{}@cache:6379/0", "REDIS_URL=rediss://default:{}@cache:6380"),
    "AMQP URL": ("<w8-20>", "amqp://guest:{}@rabbit:5672/vhost", "broker_url = 'amqps://svc:{}@rabbit//'"),
    "git URL with token": (
        "<w40>",
        "git clone https://oauth2:{}@git.example.org/a/b.git",
        "origin  https://bot:{}@git.example.org/a/b.git (push)",
    ),
    "SQL Server string": (
        "<pass>",
        "Server=tcp:db,1433;User ID=sa;Password={};Encrypt=true;",
        "Data Source=db;uid=sa;pwd={};",
    ),
    "JDBC URL": (
        "<w8-20>",
        "jdbc:postgresql://db/app?user=app&password={}",
        "jdbc:sqlserver://db;user=sa;password={};",
    ),
    "SMTP password": ("<pass>", "SMTP_PASS={}", "smtp_password: {}"),
    "password in INI": ("<pass>", "[client]\nuser = root\npassword = {}\n", "[db]\ndb_pass={}\n"),
    "password in TOML": ("<pass>", '[database]\npassword = "{}"\nport = 5432', "[auth]\nsecret = '{}'"),
    "password in YAML": ("<pass>", "database:\n  user: app\n  password: {}\n", "auth:\n  password: '{}'\n"),
    "password in JSON": (
        "<pass>",
        '{{"user": "app", "password": "{}"}}',
        '"{{\\"user\\": \\"app\\", \\"password\\": \\"{}\\"}}"',
    ),
    "password in XML": (
        "<pass>",
        "<server><username>ci</username><password>{}</password></server>",
        '<add key="Password" value="{}" />',
    ),
    "password in Java properties": ("<pass>", "spring.datasource.password={}", "db.password = {}"),
    "password in code": (
        "<pass>",
        'conn = connect(host="db", user="app", password="{}")',
        "const password = '{}';",
    ),
    "password in a chat": (
        "<pass>",
        "The password is {} and the user is admin.",
        "login: admin, password: {}",
    ),
    "password on a command line": (
        "<pass>",
        "mysqldump --user=root --password={} shop",
        "tool login --username ci --password {}",
    ),
    "curl user": (
        "<w10-20>",
        "curl -u admin:{} https://api.example.org/v1/me",
        "curl --user 'admin:{}' https://api.example.org",
    ),
    "sshpass": ("<w10-16>", "sshpass -p '{}' ssh root@10.0.0.7", "sshpass -p {} scp a b:"),
    "docker login": (
        "<w16-24>",
        "docker login -u ci -p {} registry.example.org",
        "docker login --username ci --password {} registry",
    ),
    "MySQL option": ("<w8-16>", "mysql -h db -u root -p{} shop", "mysql -uroot -p'{}' -e 'select 1'"),
    "netrc": (
        "<w12-20>",
        "machine api.example.org login ci password {}",
        "machine git.example.org\n  login ci\n  password {}\n",
    ),
    "pgpass": ("<w12-20>", "PGPASSWORD={} psql -h db app", "PGPASSWORD='{}' pg_dump app"),
    "Kubernetes secret": (
        "<B22>==",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  password: {}\n",
        "kind: Secret\nstringData:\n  token: {}\n",
    ),
    "Docker config": (
        "<basic>",
        '{{"auths": {{"registry.example.org": {{"auth": "{}"}}}}}}',
        '{{"https://index.docker.io/v1/": {{"auth": "{}"}}}}',
    ),
    "npmrc token": (
        "<uuid>",
        "//registry.npmjs.org/:_authToken={}",
        "//npm.example.org/:_authToken={}\nalways-auth=true",
    ),
    "Terraform variable": ("<pass>", 'db_password = "{}"', 'variable "db_password" {{\n  default = "{}"\n}}'),
    "GCP service account file": (
        "<B400>",
        '{{"type": "x", "private_key": "-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----\\n"}}',
        '"private_key": "-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----\\n",',
    ),
    "seed phrase": (
        " ".join(["<a4-8>", "<a3-7>"] * 6),
        "mnemonic: {}",
        'MNEMONIC="{}"',
    ),
    "HTTP token header": (
        "<h40>",
        "Authorization: Token {}",
        "curl -H 'PRIVATE-TOKEN: {}' https://git.example.org/api/v4",
    ),
    "Okta SSWS header": ("00<b40>", "Authorization: SSWS {}", "-H 'Authorization: SSWS {}'"),
    "AWS credentials file": (
        "<B40>",
        "[default]\naws_access_key_id = X\naws_secret_access_key = {}\n",
        "aws configure set aws_secret_access_key {}",
    ),
}

KEYS = {
    "RSA private key": pem("RSA PRIVATE KEY", 24),
    "EC private key": pem("EC PRIVATE KEY", 2),
    "DSA private key": pem("DSA PRIVATE KEY", 9),
    "PKCS#8 private key": pem("PRIVATE KEY", 24),
    "encrypted private key": pem("ENCRYPTED PRIVATE KEY", 26),
    "OpenSSH private key": pem("OPENSSH PRIVATE KEY", 6, 70),
    "PGP private key": pem("PGP PRIVATE KEY BLOCK", 30),
}
