"""The forms of keys, tokens and passwords, as their providers describe them in public.

A form is text with fields: `<w36>` are 36 letters and digits, `<b20-40>` 20 to 40 characters of base64url. So
no text in this file looks like a key. The letters of the fields are those of `ALPHABETS`; `<uuid>` is a UUID,
`<pass>` a password, `<basic>` a name and a password in base64.
"""

from __future__ import annotations

import base64
import random
import re
import string
import uuid

ALPHABETS = {
    "w": string.ascii_letters + string.digits,
    "u": string.ascii_uppercase + string.digits,
    "l": string.ascii_lowercase + string.digits,
    "A": string.ascii_uppercase,
    "a": string.ascii_lowercase,
    "d": string.digits,
    "n": "123456789",
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "b": string.ascii_letters + string.digits + "-_",
    "B": string.ascii_letters + string.digits + "+/",
    "5": string.ascii_uppercase + "234567",
    "x": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",  # bech32
    "8": "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz",  # base58
    "t": string.ascii_letters + string.digits + "~._-",
    "s": string.ascii_letters + string.digits + "!#%*+-=?^_~",
}
_WORDS = [
    "amber", "birch", "cobalt", "dragon", "ember", "falcon", "garnet", "harbor", "indigo", "jasper",
    "kestrel", "lantern", "maple", "nectar",
]  # fmt: skip
_FIELD = re.compile(r"<(?:(uuid|pass|basic)|([a-zA-Z58])(\d+)(?:-(\d+))?)>")


def password(rng: random.Random) -> str:
    """Return a password that a person or a generator may have chosen."""
    words = [rng.choice(_WORDS) for _ in range(3)]
    return rng.choice(
        (
            fill(rng, "<w1><s12-20><d1>"),
            f"{words[0]}{rng.randrange(10, 9999)}",
            f"{words[0].title()}{words[1].title()}{rng.randrange(10, 99)}!",
            f"{words[0]}-{words[1]}-{words[2]}-{rng.randrange(10, 99)}",
            f"{words[0].title()}_{rng.randrange(1950, 2030)}#",
        )
    )


def fill(rng: random.Random, form: str) -> str:
    """Return the form with every field filled."""

    def field(match: re.Match[str]) -> str:
        if match[1] == "uuid":
            return str(uuid.UUID(int=rng.getrandbits(128), version=4))
        if match[1] == "pass":
            return password(rng)
        if match[1] == "basic":
            return base64.b64encode(f"{rng.choice(_WORDS)}:{password(rng)}".encode()).decode()
        count = rng.randint(int(match[3]), int(match[4] or match[3]))
        return "".join(rng.choices(ALPHABETS[match[2]], k=count))

    return _FIELD.sub(field, form)


# Keys that show what they are: a prefix, a mark inside, or a place in a known address.
BARE = {
    "1Password service account token": "ops_eyJ<b240>",
    "Adafruit IO key": "aio_<w28>",
    "Age secret key": "AGE-SECRET-KEY-1<x58>",
    "Airtable token": "pat<w14>.<h64>",
    "Alibaba access key id": "LTAI<w20>",
    "Anthropic API key": "sk-ant-api03-<b93>AA",
    "Anthropic OAuth token": "sk-ant-oat01-<b93>AA",
    "Artifactory API key": "AKCp<w69>",
    "Atlassian API token": "ATATT3xFfGF0<b171>=<H8>",
    "AWS access key id": "AKIA<516>",
    "AWS temporary key id": "ASIA<516>",
    "AWS Bedrock API key": "ABSK<B109>=",
    "Azure AD client secret": "<w3>8Q~<t34>",
    "Azure storage connection string": "DefaultEndpointsProtocol=https;AccountName=a<a4>;AccountKey=<B86>==;",
    "Azure Service Bus connection string": "Endpoint=sb://hub.servicebus.windows.net/;SharedAccessKey=<B43>=",
    "Azure SAS signature": "https://store.blob.core.windows.net/c?sv=2030-01-01&sp=r&sig=<w20>%2B<w20>%3D",
    "Bitbucket app password": "ATBB<w32>",
    "Brevo API key": "xkeysib-<h64>-<w16>",
    "Buildkite token": "bkua_<h40>",
    "Braintree access token": "access_token$production$<l16>$<h32>",
    "CircleCI token": "CCIPAT_<w22>_<h40>",
    "Clojars token": "CLOJARS_<h60>",
    "Cloudflare origin CA key": "v1.0-<h24>-<h146>",
    "Cloudinary URL": "cloudinary://<d15>:<b27>@media",
    "Contentful token": "CFPAT-<b43>",
    "crates.io token": "cio<w32>",
    "Databricks token": "dapi<h32>",
    "DigitalOcean token": "dop_v1_<h64>",
    "DigitalOcean refresh token": "dor_v1_<h64>",
    "Discord bot token": "M<w23>.<b6>.<b38>",
    "Discord webhook": "https://discord.com/api/webhooks/<d18>/<b68>",
    "Docker Hub token": "dckr_pat_<b27>",
    "Doppler token": "dp.pt.<w43>",
    "Dropbox short-lived token": "sl.<b135>",
    "Duffel token": "duffel_live_<b43>",
    "Dynatrace token": "dt0c01.<u24>.<u64>",
    "EasyPost key": "EZAK<w54>",
    "Facebook access token": "EAAB<w120>",
    "Figma token": "figd_<b40>",
    "Flutterwave secret key": "FLWSECK-<h32>-X",
    "Fly.io token": "FlyV1 fm2_<B120>",
    "Frame.io token": "fio-u-<b64>",
    "GCP API key": "AIza<b35>",
    "GitHub personal token": "ghp_<w36>",
    "GitHub OAuth token": "gho_<w36>",
    "GitHub app token": "ghs_<w36>",
    "GitHub refresh token": "ghr_<w76>",
    "GitHub fine-grained token": "github_pat_<w22>_<w59>",
    "GitLab personal token": "glpat-<b20>",
    "GitLab deploy token": "gldt-<b20>",
    "GitLab runner token": "glrt-<b20>",
    "GitLab trigger token": "glptt-<h40>",
    "Google OAuth access token": "ya29.<b160>",
    "Google OAuth client secret": "GOCSPX-<b28>",
    "Google OAuth refresh token": "1//0<b2>-<b60>",
    "Grafana cloud token": "glc_<B120>==",
    "Grafana service account token": "glsa_<w32>_<h8>",
    "Groq API key": "gsk_<w52>",
    "HashiCorp Vault token": "hvs.<b95>",
    "HashiCorp Vault batch token": "hvb.<b140>",
    "Heroku API key": "HRKU-AA<b58>",
    "HubSpot token": "pat-na1-<uuid>",
    "Hugging Face token": "hf_<w34>",
    "Infracost key": "ico-<w32>",
    "JSON web token": "eyJ<b33>.eyJ<b60>.<b43>",
    "LangSmith key": "lsv2_pt_<h32>_<h10>",
    "LaunchDarkly SDK key": "sdk-<uuid>",
    "Linear API key": "lin_api_<w40>",
    "Lob key": "live_<h35>",
    "Mailchimp API key": "<h32>-us<n1>",
    "Mailgun API key": "key-<h32>",
    "Netlify token": "nfp_<w36>",
    "New Relic license key": "<h36>FFFFNRAL",
    "New Relic user key": "NRAK-<u27>",
    "Notion token": "ntn_<d11><w35>",
    "npm token": "npm_<w36>",
    "NuGet API key": "oy2<l43>",
    "OpenAI legacy key": "sk-<w20>T3BlbkFJ<w20>",
    "OpenAI project key": "sk-proj-<b74>T3BlbkFJ<b74>",
    "OpenAI service account key": "sk-svcacct-<b58>T3BlbkFJ<b58>",
    "OpenRouter key": "sk-or-v1-<h64>",
    "DeepSeek key": "sk-<h32>",
    "Perplexity key": "pplx-<w48>",
    "Pinecone key": "pcsk_<w6>_<w63>",
    "Plaid access token": "access-production-<uuid>",
    "PlanetScale password": "pscale_pw_<b43>",
    "PlanetScale service token": "pscale_tkn_<b43>",
    "Postman key": "PMAK-<h24>-<h34>",
    "Prefect key": "pnu_<l36>",
    "Pulumi token": "pul-<h40>",
    "PyPI token": "pypi-AgEIcHlwaS5vcmc<b150>",
    "Razorpay key": "rzp_live_<w14>",
    "ReadMe key": "rdme_<l70>",
    "Replicate token": "r8_<w37>",
    "RubyGems key": "rubygems_<h48>",
    "SendGrid key": "SG.<b22>.<b43>",
    "Sentry DSN with secret": "https://<h32>:<h32>@o<d6>.ingest.sentry.io/<d7>",
    "Sentry user token": "sntryu_<h64>",
    "Shippo token": "shippo_live_<h40>",
    "Shopify access token": "shpat_<h32>",
    "Shopify shared secret": "shpss_<h32>",
    "Slack app token": "xapp-1-A<u10>-<d13>-<h64>",
    "Slack bot token": "xoxb-<d12>-<d12>-<w24>",
    "Slack user token": "xoxp-<d12>-<d12>-<d12>-<h32>",
    "Slack webhook": "https://hooks.slack.com/services/T<u8>/B<u10>/<w24>",
    "Sourcegraph token": "sgp_<h16>_<h40>",
    "Square access token": "EAAAE<b59>",
    "Square OAuth secret": "sq0csp-<b43>",
    "Stripe secret key": "sk_live_<w24>",
    "Stripe restricted key": "rk_live_<w99>",
    "Stripe webhook secret": "whsec_<w32>",
    "Supabase token": "sbp_<h40>",
    "Tailscale key": "tskey-auth-<w12>CNTRL-<w32>",
    "Teams webhook": "https://a.webhook.office.com/webhookb2/<uuid>@<uuid>/IncomingWebhook/<h32>/<uuid>",
    "Telegram bot token": "<n1><d9>:AA<b33>",
    "Tencent secret id": "AKID<w32>",
    "Terraform Cloud token": "<w14>.atlasv1.<b67>",
    "Twilio API key": "SK<h32>",
    "Typeform token": "tfp_<b44>_<b14>",
    "xAI key": "xai-<w80>",
    "Zapier webhook": "https://hooks.zapier.com/hooks/catch/<d7>/<l7>/",
}

# Keys that only the name in front of them gives away.
NAMED = {
    "Algolia admin key": ("<h32>", "ALGOLIA_ADMIN_KEY", "algolia_api_key"),
    "Asana token": ("1/<d16>:<h32>", "ASANA_ACCESS_TOKEN", "asana_token"),
    "AWS secret access key": ("<B40>", "AWS_SECRET_ACCESS_KEY", "aws_secret_access_key"),
    "AWS session token": ("IQoJb3JpZ2luX2Vj<B300>==", "AWS_SESSION_TOKEN", "aws_session_token"),
    "Azure DevOps token": ("<l52>", "AZURE_DEVOPS_EXT_PAT", "azure_devops_token"),
    "Azure OpenAI key": ("<h32>", "AZURE_OPENAI_API_KEY", "api_key"),
    "Cloudflare API token": ("<b40>", "CLOUDFLARE_API_TOKEN", "cloudflare_api_token"),
    "Cohere key": ("<w40>", "COHERE_API_KEY", "cohere_api_key"),
    "Confluent secret": ("<B64>", "CONFLUENT_API_SECRET", "confluent_api_secret"),
    "Datadog API key": ("<h32>", "DD_API_KEY", "datadog_api_key"),
    "Datadog application key": ("<h40>", "DD_APP_KEY", "datadog_app_key"),
    "Django secret key": ("<s50>", "DJANGO_SECRET_KEY", "SECRET_KEY"),
    "Ethereum private key": ("0x<h64>", "PRIVATE_KEY", "privateKey"),
    "Fastly token": ("<b32>", "FASTLY_API_TOKEN", "fastly_api_key"),
    "Heroku UUID key": ("<uuid>", "HEROKU_API_KEY", "heroku_api_key"),
    "MessageBird key": ("<w25>", "MESSAGEBIRD_ACCESS_KEY", "messagebird_access_key"),
    "Mistral key": ("<w32>", "MISTRAL_API_KEY", "mistral_api_key"),
    "Ngrok token": ("<w27>_<w21>", "NGROK_AUTHTOKEN", "authtoken"),
    "OAuth client secret": ("<w40>", "OAUTH_CLIENT_SECRET", "client_secret"),
    "OAuth refresh token": ("<b86>", "REFRESH_TOKEN", "refresh_token"),
    "Okta API token": ("00<b40>", "OKTA_API_TOKEN", "okta_token"),
    "PagerDuty key": ("u+<w18>", "PAGERDUTY_API_KEY", "pagerduty_token"),
    "Rollbar token": ("<h32>", "ROLLBAR_ACCESS_TOKEN", "rollbar_access_token"),
    "Snyk token": ("<uuid>", "SNYK_TOKEN", "snyk_token"),
    "Twilio auth token": ("<h32>", "TWILIO_AUTH_TOKEN", "auth_token"),
    "Vercel token": ("<w24>", "VERCEL_TOKEN", "vercel_token"),
    "Weights and Biases key": ("<h40>", "WANDB_API_KEY", "wandb_api_key"),
    "WireGuard private key": ("<B43>=", "WG_PRIVATE_KEY", "PrivateKey"),
    "encryption key": ("<h64>", "ENCRYPTION_KEY", "encryption_key"),
    "password in settings": ("<pass>", "DB_PASSWORD", "password"),
    "passphrase in settings": ("<pass>", "SSH_PASSPHRASE", "passphrase"),
}
