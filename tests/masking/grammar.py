"""Texts with a secret in them, and texts without one, put together by lot from what logs show.

A secret's text is a place (a command, an assignment, a sentence) × a value × what stands around it.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from string import ascii_letters, ascii_uppercase, digits
from typing import NamedTuple

_ALNUM = ascii_letters + digits
_HEX = "0123456789abcdef"


class Text(NamedTuple):
    kind: str
    text: str
    secret: str = ""


Value = Callable[[Random], str]


def _drawn(letters: str, least: int, most: int = 0) -> Value:
    def _value(lot: Random) -> str:
        number = lot.randint(least, most or least)
        drawn = [lot.choice(letters) for _ in range(number)]
        if letters == _ALNUM and number >= 20 and not lot.randrange(8):
            return "".join(lot.choice(ascii_letters) for _ in range(number))  # no digit among them
        for at, some in zip(
            lot.sample(range(number), 4), (digits, letters, digits, letters), strict=True
        ):
            drawn[at] = lot.choice([c for c in some if c in letters])
        drawn[lot.randrange(number)] = lot.choice([c for c in letters if c in ascii_letters])
        return "".join(drawn)

    return _value


def _invented(lot: Random) -> str:
    """As people make up passwords."""
    word = lot.choice(["Hunter", "dragon", "Summer", "paddle", "Zhang", "qwer", "Admin", "letmein"])
    sign = lot.choice(["!", "@", "#", "$", "_", "", "%", "*"])
    return f"{word}{sign}{lot.randint(10, 99999)}{lot.choice(['', '!', '#', 'x'])}"


def _uuid(lot: Random) -> str:
    h = "".join(lot.choice(_HEX) for _ in range(32))
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def _either(*values: Value) -> Value:
    return lambda lot: lot.choice(values)(lot)


_plain_key = _either(_drawn(_ALNUM, 30, 44), _drawn(_HEX, 32), _drawn(_HEX, 40))
_pin: Value = lambda lot: str(lot.randint(100000, 99999999))  # noqa: E731
_password = _either(_invented, _drawn(_ALNUM, 8, 16), _invented)

NAMES = {
    "password": [
        "password",
        "passwd",
        "db_password",
        "MYSQL_PASSWORD",
        "userPassword",
        "pwd",
        "REDIS_PASSWD",
        "root-password",
        "Password",
        "passphrase",
    ],
    "secret": [
        "secret",
        "client_secret",
        "SECRET_KEY",
        "app_secret",
        "fs.s3a.secret.key",
        "accessKeySecret",
        "secretKey",
        "aws_secret_access_key",
    ],
    "key": [
        "api_key",
        "apiKey",
        "API-KEY",
        "access_key_id",
        "WANDB_API_KEY",
        "OPENAI_API_KEY",
        "account_key",
        "private_key",
        "x-api-key",
    ],
    "token": [
        "token",
        "HF_TOKEN",
        "access_token",
        "auth-token",
        "X-Auth-Token",
        "GITLAB_TOKEN",
        "accessToken",
        "stoken",
    ],
    "aksk": ["ak", "sk", "AK", "bos_sk", "BOS_AK"],
}
ASSIGNED = [
    "{n}={v}",
    "{n}: {v}",
    "{n} = '{v}'",
    "'{n}': '{v}'",
    '"{n}": "{v}"',
    '{n}="{v}"',
    "{n}：{v}",
    "{n} => {v}",
    "cfg['{n}'] = '{v}'",
    'cfg["{n}"]="{v}"',
    '{{\\"{n}\\": \\"{v}\\"}}',
    "--{n}={v}",
    "--{n} {v}",
    "['train.py', '--{n}', '{v}']",
    "('{n}', '{v}')",
    "Namespace(lr=0.1, {n}='{v}', epochs=3)",
    "export {n}={v}",
    "{n}为{v}",
    "{n} 是 {v}，请更换",
    "{n}已配置为 {v}",
    "{n}=SecretStr('{v}')",
    "cmdline: python\\x00train.py\\x00--{n}\\x00{v}",
    "- name: {n}\n  value: {v}",
    '{{"name": "{n}", "value": "{v}"}}',
    "<name>{n}</name><value>{v}</value>",
    "os.environ['{n}'] = '{v}'",
    "f(a=1,{n}={v},b=2)",
    "| {n}        | {v}    |",
    "│ {n} │ {v} │",
]

PLACES: dict[str, tuple[list[str], Value]] = {
    "chinese-password": (
        [
            "密码：{v}",
            "密码: {v}",
            "密码为{v}",
            "密码是 {v}，请检查",
            "密码{v}错误",
            '登录密码="{v}"',
            "口令：{v}",
            "口令 {v} 不正确",
            "数据库口令为 '{v}'",
            "密码（password）：{v}",
            "授权码: {v}",
            "密码已重置为{v}",
            "用户名 root 密码 {v}",
            "密码修改成 {v}",
            "密码已更新为：{v}",
            "用户 root 的密码已经改为{v}",
            "【密码】{v}",
            "密码输入错误：{v}",
            "密 码：{v}",
            "账号密码：root，密码 {v}",
        ],
        _password,
    ),
    "chinese-pin": (["密码：{v}", "口令：{v}", "password={v}", "密码是{v}"], _pin),
    "chinese-key": (
        [
            "密钥：{v}",
            "密钥 {v} 无效",
            "密钥为{v}",
            "访问密钥: {v}",
            "令牌：{v}",
            "令牌 {v} 已过期",
            "令牌“{v}”无效",
            "私钥={v}",
            "凭证：{v}",
            "加密密钥是：{v}",
            "秘钥：{v}",
            "密钥已更换为 {v}",
            "SecretKey（密钥）：{v}",
            "令牌「{v}」校验失败",
        ],
        _plain_key,
    ),
    "feishu": (
        [
            "https://open.feishu.cn/open-apis/bot/v2/hook/{v}",
            "POST https://open.larksuite.com/open-apis/bot/v2/hook/{v} failed",
            "webhook='https://open.feishu.cn/open-apis/bot/hook/{v}'",
            "飞书 webhook：https://open.feishu.cn/open-apis/bot/v2/hook/{v}",
        ],
        _either(_uuid, _drawn(_HEX, 32)),
    ),
    "discord": (
        [
            "https://discord.com/api/webhooks/123456789012/{v}",
            "https://sctapi.ftqq.com/{v}.send",
            "https://chat.example/hooks/{v}",
        ],
        _drawn(_ALNUM, 40, 60),
    ),
    "dingtalk": (
        [
            "SEC{v}",
            "dingtalk sign secret SEC{v}",
            "加签 SEC{v} 错误",
            "https://oapi.dingtalk.com/robot/send?sign=SEC{v}",
        ],
        _drawn(_HEX, 64),
    ),
    "dingtalk-token": (
        [
            "https://oapi.dingtalk.com/robot/send?access_token={v}",
            "https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key={v}",
        ],
        _either(_drawn(_HEX, 64), _uuid),
    ),
    "ugi": (
        [
            "hadoop.job.ugi=alice,{v}",
            "ugi=alice,{v}",
            "-Dhadoop.job.ugi=alice,{v} -ls /",
            "'hadoop.job.ugi': 'alice,{v}'",
            '"fs_ugi": "alice,{v}"',
            "fs.ugi: alice,{v}",
            "HADOOP_UGI=alice,{v}",
            "afs ugi：team-a,{v}",
            "python dump.py --fs_ugi alice,{v} --day 3",
            "['dump.py', '--hadoop_ugi', 'alice,{v}']",
            "client.init('afs://h:9902', 'alice', '{v}', './client.conf')",
            'wrapper.init("hdfs://h:9000", "alice", "{v}", "")',
            'dataset.set_hdfs_config("afs://h:9902", "alice,{v}")',
            "dataset.set_hdfs_config(args.fs_name, 'alice,{v}')",
        ],
        _password,
    ),
    "sshpass": (
        [
            "sshpass -p {v} ssh root@10.0.0.7",
            "sshpass -p '{v}' scp a b:",
            "+ sshpass -p{v} ssh -o X=no h",
            "['sshpass', '-p', '{v}', 'ssh', 'h']",
            '/usr/bin/sshpass -v -p "{v}" ssh h',
        ],
        _password,
    ),
    "curl": (
        [
            "curl -u bob:{v} https://h/x",
            "curl -s -k -u 'bob:{v}' https://h",
            "curl --user bob:{v} https://h",
            "curl -ubob:{v} h",
            "curl -x p:1 --proxy-user bob:{v} h",
            "['curl', '-u', 'bob:{v}', 'h']",
            "wget --user=bob --password={v} h",
            "etcdctl --user root:{v} get x",
        ],
        _password,
    ),
    "mysql": (
        [
            "mysql -uroot -p{v} -h 10.0.0.2 db",
            "mysqldump -u root -p'{v}' db",
            "mysql -h h -u root -p{v}",
            "mysqladmin --user=root --password={v} ping",
            "['mysql', '-uroot', '-p{v}']",
            "mysql: CREATE USER 'a'@'%' IDENTIFIED BY '{v}'",
        ],
        _password,
    ),
    "redis": (
        [
            "redis-cli -h 10.0.0.3 -a {v} ping",
            "redis-cli -a '{v}'",
            "redis-cli -p 6380 --pass {v} info",
            "requirepass {v}",
            "REDISCLI_AUTH={v}",
            "--redis-auth {v}",
            'declare -x LDAP_BIND_PW="{v}"',
            "ENV NEXUS_PASS={v}",
            "password for svc-train set to {v}",
            "client.auth('{v}')",
            "openssl enc -aes-256-cbc -d -k {v} -in d.enc",
            "SMTP('mail.example').login('bob@mail.example', '{v}')",
            'expect "password:" send "{v}\\r"',
            "pass phrase is {v}",
        ],
        _password,
    ),
    "mongo": (
        [
            "mongo -u root -p {v} --host h",
            "mongosh admin -u root -p '{v}'",
            "mongodump --host h -u root -p {v} -o d",
            "mongo --username root --password {v}",
        ],
        _password,
    ),
    "docker": (
        [
            "docker login -u bob -p {v} reg.example",
            "docker login --username bob --password {v}",
            "podman login -u bob -p '{v}' reg.example",
            "helm registry login reg.example -u bob -p {v}",
            "echo {v} | docker login -u bob --password-stdin",
        ],
        _password,
    ),
    "netrc": (
        [
            "machine git.example login bob password {v}",
            "machine git.example\n  login bob\n  password {v}",
            "default login anonymous password {v}",
        ],
        _password,
    ),
    "dsn": (
        [
            "root:{v}@tcp(10.0.0.2:3306)/db",
            "dsn='root:{v}@tcp(db.example:3306)/x?parseTime=true'",
            "cannot open root:{v}@unix(/run/mysqld.sock)/x",
            "root:{v}@(10.0.0.2:3306)/db",
            "postgres://bob:{v}@10.0.0.4:5432/x",
            "bob:{v}@10.0.0.9:6379",
        ],
        _either(_invented, _drawn(_ALNUM, 8, 16), lambda lot: f"v{_invented(lot)}"),
    ),
    "wandb": (
        [
            "wandb login {v}",
            "wandb login --relogin {v}",
            "wandb.login(key='{v}')",
            "wandb: API key {v} is not valid",
            "wandb: {v}",
            "wandb.login('{v}')",
        ],
        _drawn(_HEX, 40),
    ),
    "environ": (
        [
            "os.environ['X'] = '{v}'",
            'os.environ["TEAM_PHRASE"] = "{v}"',
            "os.environ.setdefault('MY_KEY', '{v}')",
            "os.putenv('THING', '{v}')",
            "os.environ['AWS_ID']='{v}'",
        ],
        _plain_key,
    ),
    "environ-password": (
        [
            "os.environ['DB_PASSWORD'] = '{v}'",
            "os.environ.get('DB_PASS', '{v}')",
            'os.getenv("REDIS_PASSWORD", "{v}")',
            "os.environ.setdefault('MYSQL_PWD', '{v}')",
        ],
        _invented,
    ),
    "short-key": (
        [
            "Namespace(ak='{v}', out='x')",
            "cfg = {{'ak': '{v}', 'bucket': 'b'}}",
            "visualdl --host 0.0.0.0 --token {v}",
            "['hub', 'login', '--token', '{v}']",
            "-H 'X-Auth-Token: {v}'",
        ],
        _drawn(_ALNUM, 10, 14),
    ),
    "prompt": (
        [
            "AWS Access Key ID [None]: {v}",
            "Secret Access Key [None]: {v}",
            "Enter passphrase for key '/root/.ssh/id_rsa': {v}",
            "bce-v3/ALTAK-x/{v}",
            "https://conda.example/t/{v}/main",
            "https://conda.example/t/tk-{v}/main",
            "https://api.telegram.org/bot123456789:AAb{v}/sendMessage",
        ],
        _drawn(_HEX, 40),
    ),
    "calls": (
        [
            "oss2.Auth('{w}', '{v}')",
            'auth = oss2.Auth("{w}", "{v}")',
            "BceCredentials('{w}', '{v}')",
            'Conf(credentials=BceCredentials("{w}", "{v}"), endpoint=\'bj.bcebos.com\')',
            "oss2.StsAuth('{w}', '{v}', 'x')",
            "Minio('10.0.0.1:9000', '{w}', '{v}')",
            "qiniu.Auth('{w}', '{v}')",
            "AcsClient('{w}', '{v}', 'cn-hangzhou')",
            "credential.Credential('{w}', '{v}')",
            "AipOcr('1234567', '{w}', '{v}')",
            "oss2.Auth({w}, {v})",
        ],
        _plain_key,
    ),
    "login-calls": (
        [
            "requests.get(u, auth=('bob', '{v}'))",
            "Elasticsearch(hosts, basic_auth=('bob', '{v}'))",
            "HTTPBasicAuth('bob', '{v}')",
            "smtp.login('bob', '{v}')",
            "ssh.connect('10.0.0.1', 22, 'root', '{v}')",
        ],
        _password,
    ),
    "bduss": (
        [
            "BDUSS={v}",
            "BDUSS: {v}",
            "'BDUSS': '{v}'",
            "Cookie: BDUSS={v}; STOKEN=x",
            "bduss='{v}'",
            "BDUSS {v} expired",
            "BDUSS_BFESS={v}",
        ],
        _drawn(_ALNUM + "-~", 100, 192),
    ),
    "prose": (
        [
            "API Token {v} is invalid",
            "API token '{v}' has expired",
            "the access token {v} was rejected",
            "Invalid API key: {v}",
            "secret key {v} does not match",
            "token {v} not found",
            "access key {v} is disabled",
            "Incorrect API key provided: {v}.",
            "private token `{v}` revoked",
            "token is {v}",
            "client secret is {v}",
        ],
        _plain_key,
    ),
    "prose-password": (
        [
            "wrong password '{v}' for bob",
            "password is {v}",
            "the password {v} was rejected",
            "bob/password: {v}",
            "using password {v}",
            "The password was changed to {v}",
            "password has been reset to {v}",
            "MinIO root credentials: minioadmin:{v}",
            "zkCli addauth digest train:{v}",
        ],
        _invented,
    ),
    "storage-tools": (
        [
            "ossutil config -e oss.example -i LTAX -k {v}",
            "ossutil64 -i LTAX -k {v} cp a oss://b",
            "license_key: {v}",
            "coscmd config -a AKX -s {v} -b bucket",
            "mc alias set m http://10.0.0.1:9000 admin {v}",
            "aws configure set aws_secret_access_key {v}",
            "kubectl create secret generic x --from-literal=pw={v}",
            "swanlab login -k {v}",
            "htpasswd -b f bob {v}",
            "ldapsearch -x -D cn=a -w {v}",
            "lftp -u bob,{v} h",
            "smbclient //h/x -U bob%{v}",
            "unzip -P {v} a.zip",
            "unrar x -p{v} a.rar",
            "7z x -p{v} a.7z",
            "echo '{v}' | sudo -S ls",
            "echo bob:{v} | chpasswd",
            "openssl rsa -passin pass:{v} -in k",
        ],
        _plain_key,
    ),
    "url": (
        [
            "https://bob:{v}@mirror.example/simple",
            "redis://:{v}@10.0.0.3:6379/0",
            "git clone https://oauth2:{v}@git.example/x.git",
            "socks5://u:{v}@p:1080",
            "amqp://a:{v}@mq:5672/",
        ],
        _either(_drawn(_ALNUM, 8, 30), _invented),
    ),
    "headers": (
        [
            "Authorization: Bearer {v}",
            "{{'Authorization': 'Bearer {v}'}}",
            "-H 'Authorization: token {v}'",
            "Cookie: sid={v}",
            "PRIVATE-TOKEN: {v}",
            "X-Api-Key: {v}",
            '{{\\"Authorization\\": \\"Basic {v}\\"}}',
        ],
        _plain_key,
    ),
    "query": (
        [
            "GET /x?access_token={v}&page=2",
            "https://b.example/o?X-Amz-Signature={v}&a=1",
            "https://h/cb?sig={v}",
            "https://h/x?api_key={v}",
            "https://h/x?a=1&password={v}",
        ],
        _plain_key,
    ),
    "user-and-password": (
        [
            "twine upload -u bob -p {v} dist/x.whl",
            "airflow users create -u bob -p {v} -r Admin",
            "['rabbitmqadmin', '-u', 'bob', '-p', '{v}', 'list']",
            "skopeo copy --src-creds bob:{v} docker://a docker://b",
            "user, password = 'bob', '{v}'",
            "useradd -m -p {v} train",
            "plink -pw {v} root@10.0.0.3",
            "ssh-keygen -t rsa -N '{v}' -f id_rsa",
            "snmpwalk -v3 -l authPriv -A {v} 10.0.0.3",
            "hadoop credential create fs.key -value {v} -provider jceks://hdfs/k",
            "printf '{v}' | docker login -u bob --password-stdin",
            "sqlplus svc-gpu/{v}@10.0.0.3",
            "FTP('10.0.0.3', 'bob', '{v}')",
            "client.username_pw_set('bob', '{v}')",
            "xfreerdp /u:bob /p:{v} /v:10.0.0.3",
        ],
        _either(_invented, _drawn(_ALNUM, 12, 20)),
    ),
    "key-calls": (
        [
            "qianfan.SecretKey('{v}')",
            "client.set_token('{v}')",
            "(ak, sk) = ('ALTAK0', '{v}')",
            "hdfs.set_ugi('train,{v}')",
            "loaded credentials {v}",
            "invalid_token: {v}",
            "jwt={v}",
            "https://api.telegram.org/bot123456789:{v}/sendMessage",
            "glsa_{v}",
        ],
        _either(_drawn(_ALNUM, 32, 44), _drawn(_HEX, 40)),
    ),
    "weak": (
        [
            "key={v}",
            "session_id={v}",
            "'key': '{v}'",
            "signature: {v}",
            "sig={v}",
            "webhook={v}",
            "'session': '{v}'",
            "salt={v}",
            "master_key: {v}",
        ],
        _plain_key,
    ),
    "pass": (["DB_PASS={v}", "smtp_pass: {v}", "'mysql_pass': '{v}'", "FTP_PASS='{v}'"], _invented),
}
SHAPES: dict[str, tuple[str, Value]] = {
    "amazon": ("AK" + "IA{v}", _drawn(ascii_uppercase + digits, 16)),
    "alibaba": ("LT" + "AI{v}", _drawn(_ALNUM, 20)),
    "tencent": ("AK" + "ID{v}", _drawn(_ALNUM, 32)),
    "baidu": ("ALT" + "AK{v}", _drawn(_ALNUM, 20)),
    "github": ("gh" + "p_{v}", _drawn(_ALNUM, 36)),
    "gitlab": ("gl" + "pat-{v}", _drawn(_ALNUM + "-", 20)),
    "huggingface": ("h" + "f_{v}", _drawn(_ALNUM, 34)),
    "openai": ("s" + "k-{v}", _drawn(_ALNUM, 48)),
    "slack": ("xo" + "xb-1234567890-{v}", _drawn(_ALNUM, 24)),
    "google": ("AI" + "za{v}", _drawn(_ALNUM + "-_", 35)),
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{v}", _drawn(_ALNUM + "-_", 43)),
}
SECRET_KINDS = (*NAMES, *PLACES, *SHAPES)
AROUND = [
    "{t}", "{t}", "{t}", "RuntimeError: {t}", "2026-11-17 02:13:00,123 - ERROR - {t}",
    "[2026-11-17 02:13:00] rank 3: {t}", "失败：{t}", "step 17 loss 2.31\n{t}\nstep 18 loss 2.30",
    "E1117 02:13:00.123456 4711 io.cc:31] {t}", "    {t}", "subprocess failed: {t}",
    "  File \"/srv/train.py\", line 3, in main\n    {t}",
]  # fmt: skip


def planted_texts(seed: int, number: int) -> list[Text]:
    """In turn of every kind."""
    lot = Random(seed)
    return [_planted(lot, SECRET_KINDS[at % len(SECRET_KINDS)]) for at in range(number)]


def _planted(lot: Random, kind: str) -> Text:
    if kind in NAMES:
        place = lot.choice(ASSIGNED).replace("{n}", lot.choice(NAMES[kind]))
        value = _password(lot) if kind == "password" else _plain_key(lot)
    elif kind in PLACES:
        places, make = PLACES[kind]
        place, value = lot.choice(places), make(lot)
    else:
        shape, make = SHAPES[kind]
        place = lot.choice(
            ["{s}", "using {s}", "密钥{s}无效", "401 for {s}: denied", "key='{s}'"]
        ).replace("{s}", shape)
        value = make(lot)
    inner = (
        place.replace("{v}", value)
        .replace("{w}", _plain_key(lot))
        .replace("{{", "{")
        .replace("}}", "}")
    )
    return Text(kind, lot.choice(AROUND).replace("{t}", inner), value)
