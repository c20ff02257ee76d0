#!/bin/sh
# Makes the secret files that docker-compose.yml reads, once. Needs openssl.
# Usage: deploy/make-secrets.sh [FOLDER]      (default: secrets)
set -eu
umask 077
folder=${1:-secrets}
mkdir -p "$folder"
cd "$folder"

word() { openssl rand -hex 32; }
keep() { [ -s "$1" ] || cat > "$1"; }

word | keep postgres_password
word | keep owner_password
word | keep app_password
word | keep redis_password
{ word | tr -d '\n'; word; } | keep secret_key

# Cluster credentials are sealed to the public key; only worker and observer get the private one.
if [ ! -s sealing_private_key ]; then
  openssl genpkey -algorithm X25519 -outform DER > sealing.der
  tail -c 32 sealing.der | openssl base64 -A > sealing_private_key
  openssl pkey -inform DER -in sealing.der -pubout -outform DER | tail -c 32 | openssl base64 -A > sealing_public_key
  rm -f sealing.der
fi

printf 'postgresql://gpuportal_owner:%s@postgres/gpuportal\n' "$(cat owner_password)" > owner_url
printf 'postgresql://gpuportal_app:%s@postgres/gpuportal\n' "$(cat app_password)" > app_url
printf 'redis://:%s@redis/0\n' "$(cat redis_password)" > redis_url
printf 'requirepass %s\nappendonly yes\nsave ""\nmaxmemory-policy noeviction\n' "$(cat redis_password)" > redis_conf

# The containers read them as users of their own; the folder itself stays closed to others.
chmod 644 ./*
chmod 700 .
echo "Secrets are in $(pwd)."
