"""Forty releases of DataHub's metadata package, each with its two large Avro schemas: a real history of real schemas.

They are fetched by pip into the cache folder when first needed (57 MB) and never committed.
"""

from demo import wheels
from demo.wheels import Release
from testbed.progress import Progress

FILES = ("MetadataChangeProposal", "MetadataChangeEvent")
"""8 to 13 kB, and 266 to 388 kB."""
RELEASES = tuple(
    Release("acryl-datahub", number, sha256)
    for number, sha256 in (
        ("0.8.20.0", "b498048872af96e8a586a2eab8db97de73f5f1f77b9def2908e47430580f58e5"),
        ("0.8.24.0", "44cb7d1b67268d6b2ab8ff276d6dd093ef0da8b7696b944e6e783ba53b85378d"),
        ("0.8.28.0", "fdb4ff77bb597b72de0275405eb03a89bd4e49cd631b3151b8a9809f48a60db0"),
        ("0.8.31", "0b109cb312ad89cae3fba3e3366764b19d5153b288583489f6a2440670b0d7fc"),
        ("0.8.34.1", "db97114b7f07858f6766aad923ee4c81b8323b061a4b88b5133646ebdc5db5e9"),
        ("0.8.36", "9a42d40cfc1cfd46db98964ef1c4e21ba78ef8ba51f1b92908fcede7cd9a95c5"),
        ("0.8.38", "1e455822a51518b9ba1dcd60f60bed05fac3429b72b4088e947f25c7a1005323"),
        ("0.8.40", "1c9862c914964f31bf9b2354bf38ad40669ea7fdbc921dbf19b096dc5f0b542d"),
        ("0.8.41", "22137c210112af7580984dcaede812b04816fe409a227a26c78d833beaeb6fad"),
        ("0.8.43", "c1e97ac06b50107f9051b58b220da48cbc8913945d8361ac658fcda1b296ab3f"),
        ("0.8.44", "8545e595c6eb52369fd65d95bfcc86fdc82731c66b2746b97d95b11fa7b9940a"),
        ("0.8.45", "f38f2b646eb674b920f3f1fffb20ac37a842a746225661f765c453d864c1009f"),
        ("0.9.0", "77487fb827044c69e1ea6c53a1bc8b0a9129d9c8d63bcdb575fb68c403a74762"),
        ("0.9.2", "8fed2b02839ae64be672b64e71e6009eacfab615b63bf5c32f704f4505dd9e57"),
        ("0.9.3", "2380f86566cd97210da07d726b7dda09604e79f97fad9d8032077e5ac56eb42f"),
        ("0.9.5", "84cfb5f24dacec4aa166610ccea9b46b336d579625a03256f42c623def99c100"),
        ("0.9.6", "c3895d1da18c5116ae762e450e31803e42b3e54b828771e38f966bdebd393203"),
        ("0.10.0", "024631a39b48c09c4ecaaf5a52b8824e3a3a41eed37bd53101dd402972ba09e2"),
        ("0.10.1", "70e5b3fe95ed6bc287249090ad2b526be434027ed17e0af1a22242f232b81307"),
        ("0.10.2", "5b1bb4cb8cdaa899df49fe5b3deab80530073ca9a74640db1f95229e7c34fcbe"),
        ("0.10.3", "8237eebdc93cb97793db7b54a81076879751f851b68a683d0d84ca88246c7348"),
        ("0.10.4", "71ef0dab40d8363b70ad00eafc5fc02471a5d1466ae3a37b1df0801713f32990"),
        ("0.10.5", "ea60623566e3d561664bc9e3ed1e7b83a79bbf3870219365b4a30eadb517fbf7"),
        ("0.11.0", "21504a05ceedaad0c6e8bc11ed84e7aed65eb3c0d55fe565894eda527935406a"),
        ("0.12.0", "094d4c51f48628b4c5e0465a8db53f5e121de44c49dfa88300c23770a75556b6"),
        ("0.12.1.0", "4e69ebea31bea9dbfa7e47dfc23901b1a2ac0b6daea7b02aa7709103b4276810"),
        ("0.13.0", "88633d4160de894e1b91125b7aadde380b63098272c7b51228d065ee060adc1e"),
        ("0.13.1", "06fe4485bbb9bdb14c11687a276e17ebcc0274328cb9174aeb76e95e7b49250e"),
        ("0.13.2", "a7eb037714aea474fa2428e6a7ada2ab721945a54a8c3e2cbbb3034608d0e693"),
        ("0.13.3", "e490c860a26078604ad36baa48de7194ed26e5b893d56848e5c76012e1bc429d"),
        ("0.14.0", "66fa9fce26f808b9fb82ee628c4f5de2b3ee3d0241983f9da26f3962d3d6d2b2"),
        ("0.14.1", "69ed2c4772b389c9be2db4a837eb68c0a9931164c57d5e33f3d3c0e6f44ed227"),
        ("0.15.0", "c6df88b389e50e44d356230f133d4778ef41c46c73f76ab18c2c98aa76aac132"),
        ("1.0.0", "6ae008d2ac749dbc08b6d76b7c6d4fb4418f57bf97ed88ddf3458e44573e343a"),
        ("1.1.0", "a3231b002295ce876a6931789a246ba154294aa4e512eeb068b2d42d0332bfb1"),
        ("1.2.0", "2ff5655e9ed583e1d4906a65e0cf83a814ee60a2e3adedce3c2da39c252aa45a"),
        ("1.3.0", "eb976f90799efea6c06243d9ead5daa3cb8493d9c692f133007cf4ab521611c3"),
        ("1.4.0", "cef88181a4ed9326ed271cee4c607c76be17e536680251ffbd30d1657bedbc63"),
        ("1.5.0", "d394df7b2115af1994775d276a4852fbeb173f5c6d34a716daa85d0149fd3b1e"),
        ("1.6.0", "6f58acdd3e641066e18811f737555dc460d8cf59d10a1407d70382458bb80aae"),
    )
)


def texts(file: str) -> list[str]:
    """Return the schema of that name in every release, oldest first. Raise DemoError if one cannot be fetched."""
    return [wheels.extract(wheel, f"{file}.avsc") for wheel in wheels.fetch(RELEASES, Progress()).values()]
